// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What `lido run` knows about the program before it becomes it.
#ifndef LIDO_TOOLS_PROGRAM_H
#define LIDO_TOOLS_PROGRAM_H

// Finds a program as execvp does. Writes its path. Returns 0; or 127 if it is not there, 126 if it is there but may not
// be run, and a line in `why`.
int lido_program_find(const char *name, char *path, unsigned path_bytes, char *why, unsigned why_bytes);

// Why a preload would have no effect on this program (statically linked, another word size, set-user-ID), NULL if nothing
// speaks against it. Scripts and files that cannot be read pass.
const char *lido_program_ignores_preload(const char *path);

#endif
