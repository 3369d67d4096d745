// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Names of functions from a file's own symbol tables, without debug information.
#ifndef LIDO_TRACE_SYMBOLS_H
#define LIDO_TRACE_SYMBOLS_H

#include "base/base.h"

// Writes the name of the function at the file's own address `offset`, "" if there is none. The file is mapped meanwhile.
LIDO__HIDDEN void lido__symbol_name(const char *path, size_t offset, char *name, size_t name_bytes);

#endif
