// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Which loaded file an address belongs to. With glibc 2.35 or later this takes no lock (_dl_find_object), so that it
// may be asked from within dlopen; before, the loader's list is walked under the loader's lock.
#ifndef LIDO_TRACE_MODULE_H
#define LIDO_TRACE_MODULE_H

#include "base/base.h"

typedef struct lido__module {
    const char *path;              // NULL: not known
    uintptr_t base;                // address in memory - address in the file
    const unsigned char *table;    // .eh_frame_hdr, NULL: none
} lido__module;

// Fails: returns false if the address is in no file that the loader knows.
LIDO__HIDDEN bool lido__module_of(uintptr_t address, lido__module *module);

// The same without the path of the program itself, which takes a system call.
LIDO__HIDDEN bool lido__module_table(uintptr_t address, lido__module *module);

#endif
