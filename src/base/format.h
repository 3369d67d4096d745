// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Text without stdio and without malloc: appends to a buffer of fixed size, cuts what does not fit, and keeps the text
// NUL-terminated after every call. Used where malloc may be on the stack.
#ifndef LIDO_BASE_FORMAT_H
#define LIDO_BASE_FORMAT_H

#include "base/base.h"

typedef struct lido__text {
    char *start;
    size_t bytes;     // of the buffer, at least 1
    size_t length;    // written so far, < bytes
} lido__text;

LIDO__HIDDEN lido__text lido__text_over(char *buffer, size_t bytes);
LIDO__HIDDEN void lido__text_string(lido__text *text, const char *s);
LIDO__HIDDEN void lido__text_chars(lido__text *text, const char *s, size_t count);
LIDO__HIDDEN void lido__text_number(lido__text *text, uint64_t n);
LIDO__HIDDEN void lido__text_address(lido__text *text, const void *p);
// A JSON string, with its quotes.
LIDO__HIDDEN void lido__text_json(lido__text *text, const char *s);
// %s string, %u unsigned, %z size_t, %p pointer, %% itself. Nothing else.
LIDO__HIDDEN void lido__text_format(lido__text *text, const char *format, ...);
LIDO__HIDDEN void lido__text_vformat(lido__text *text, const char *format, __builtin_va_list arguments);

// Reads an unsigned decimal number that must fill [s, s + length). Returns false for anything else or on overflow.
LIDO__HIDDEN bool lido__parse_number(const char *s, size_t length, uint64_t *out);

#endif
