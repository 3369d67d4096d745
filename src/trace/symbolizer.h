// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The process that knows lines: started at the first question between lido__symbolizer_open and _close (symbolize.h).
//
//      question:   MODULE_PATH HEX_OFFSET
//      answer:     FUNCTION <tab> FILE <tab> LINE { <tab> FUNCTION <tab> FILE <tab> LINE }      the innermost first
#ifndef LIDO_TRACE_SYMBOLIZER_H
#define LIDO_TRACE_SYMBOLIZER_H

#include "base/base.h"

// The answer, without its newline, good until the next question; NULL if there is none, for whatever reason.
LIDO__HIDDEN const char *lido__symbolizer_ask(const char *module, size_t offset);

// Whether the calling thread has it open.
LIDO__HIDDEN bool lido__symbolizer_is_mine(void);

#endif
