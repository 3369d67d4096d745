// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The parts of `lido report`: the file that `lido bench` wrote comes in as bytes, is checked, and goes out inside a page.
// The data are put into the page as they came, not printed anew, so that what a reader downloads from it is what was
// measured, to the last digit. Nothing here computes a figure: page*.js does, in the reader's browser.
// Each function that returns int returns 0, or -1 after one line on stderr that names the file and the way out.
#ifndef LIDO_TOOLS_REPORT_H
#define LIDO_TOOLS_REPORT_H

#include <stddef.h>
#include <stdio.h>

typedef struct report_data {
    const char *name;    // of the file, for messages; "-" is stdin
    char *bytes;         // the whole file; freed by report_data_free
    size_t byte_count;
} report_data;

// Reads the file, or stdin for "-".
int report_data_read(report_data *data, const char *name);
void report_data_free(report_data *data);

// Whether the bytes are JSON of the schema that the page knows, as far as the page relies on it: what is there has the
// type that it should have. Anything but names may be missing or null, for that is how bench says "not measured".
int report_data_check(const report_data *data);

// The page around the data, made from page.html, page.css and page*.js at build time.
extern const char report_page_head[], report_page_tail[];

// Writes the page to a file, or to stdout for "-". A file appears whole or not at all, and an old one stays until then.
int report_page_write(const report_data *data, const char *name);

#endif
