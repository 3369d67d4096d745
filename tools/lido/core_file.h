// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What `lido core` makes sure of before it starts gdb, which would take any two files and give nonsense.
#ifndef LIDO_TOOLS_CORE_FILE_H
#define LIDO_TOOLS_CORE_FILE_H

// 0 if `core` is a core file and `program` the program that left it, as far as the core says; else -1 and a line in `why`.
int lido_core_check(const char *core, const char *program, char *why, unsigned why_bytes);

#endif
