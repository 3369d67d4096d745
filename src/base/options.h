// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The values behind <lido/options.h>. Plain words, written at start-up or by lido_options_set, read relaxed by anyone:
// an option is a wish, and a reader that sees the old value a moment longer does no harm.
#ifndef LIDO_BASE_OPTIONS_H
#define LIDO_BASE_OPTIONS_H

#include "base/base.h"

#include <lido/options.h>

typedef struct lido__option_values {
    _Atomic uint32_t purge_delay_ms;    // how long free memory is kept before it is given back
    _Atomic uint32_t huge_from_mb;      // heap size in MiB from which huge pages are asked for; UINT32_MAX never
    _Atomic uint32_t hugetlb;           // take huge objects from the pages that were set aside
    _Atomic uint32_t populate;          // bring in fresh slabs of growing pools in one call
    _Atomic uint32_t misuse_continues;
    _Atomic uint32_t stats_at_exit;
    _Atomic uint32_t check;            // lido_check_level of <lido/check.h>
    _Atomic uint32_t check_sample;     // one allocation in so many, for check=sample
    _Atomic uint32_t check_rest_kb;    // how much freed memory rests, see check/check.h
    _Atomic uint32_t check_frames;     // of a stack
    _Atomic uint32_t check_front;      // a block that is paged starts at a page's start, not ends at its end
    _Atomic uint32_t leaks_at_exit;
    _Atomic uint32_t report_json;
    _Atomic uint32_t tools;    // tell other tools of blocks, see os/tools.h
} lido__option_values;

extern LIDO__HIDDEN lido__option_values lido__options;

// Values that are text, "" unless set. Written at start-up or by lido_options_set, which nobody should call while reports are
// written.
enum { LIDO__OPTION_TEXT_BYTES = 256 };
typedef struct lido__option_texts {
    char report[LIDO__OPTION_TEXT_BYTES];          // file for reports
    char symbolizer[LIDO__OPTION_TEXT_BYTES];      // the command `lido`, for names and lines of stacks
    char suppressions[LIDO__OPTION_TEXT_BYTES];    // file with patterns of leaks not to report
    char fault[LIDO__OPTION_TEXT_BYTES];           // which allocations fail, see check/inject.h
} lido__option_texts;
extern LIDO__HIDDEN lido__option_texts lido__option_texts_now;

// What pool.NAME.check says of a pool, or what `check` says if it says nothing.
LIDO__HIDDEN uint32_t lido__options_check_of(const char *pool_name);

// Reads LIDO_OPTIONS once. Later calls do nothing. Called with `environment` == NULL it does nothing and may be called again.
LIDO__HIDDEN void lido__options_load(char *const *environment);
// Where a warning about a bad option goes; set by the layer above (base knows no output).
extern LIDO__HIDDEN void (*lido__options_warn)(const char *format, ...);

#endif
