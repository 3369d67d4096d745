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
} lido__option_values;

extern LIDO__HIDDEN lido__option_values lido__options;

// Reads LIDO_OPTIONS once. Later calls do nothing. Called with `environment` == NULL it does nothing and may be called again.
LIDO__HIDDEN void lido__options_load(char *const *environment);
// Where a warning about a bad option goes; set by the layer above (base knows no output).
extern LIDO__HIDDEN void (*lido__options_warn)(const char *format, ...);

#endif
