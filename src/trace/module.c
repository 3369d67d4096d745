// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See module.h. The loader names the program itself "": its path comes from the system, once.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/module.h"

#include "base/atomics.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

static const char *program_path(void) {
    static char path[PATH_MAX];
    static _Atomic uint32_t state;                         // [atomic:path] 0 not read, 1 being read, 2 there
    uint32_t seen = LIDO__ATOMIC_LOAD(&state, acquire);    // pairs with the release below
    if (seen == 2) return path;
    // relaxed: nothing was written before. Whoever comes second meanwhile does without.
    if (seen != 0 || !LIDO__ATOMIC_CAS(&state, &seen, 1u, relaxed)) return NULL;
    int saved = errno;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    errno = saved;
    LIDO__ATOMIC_STORE(&state, length > 0 ? 2u : 0u, release);
    return length > 0 ? path : NULL;
}

typedef struct search {
    uintptr_t address;
    lido__module *found;
} search;

// Called for each loaded file; 1 ends the search.
static int look_at(struct dl_phdr_info *info, size_t bytes, void *context) {
    (void)bytes;
    search *s = (search *)context;
    bool inside = false;
    const unsigned char *table = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && s->address - start < part->p_memsz) inside = true;
        if (part->p_type == PT_GNU_EH_FRAME) table = (const unsigned char *)start;
    }
    if (inside) *s->found = (lido__module){info->dlpi_name, info->dlpi_addr, table};
    return inside;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object
static bool ask_loader(uintptr_t address, lido__module *module) {
    struct dl_find_object found;
    if (_dl_find_object == NULL) return false;
    if (_dl_find_object((void *)address, &found) != 0) return false;
    *module = (lido__module){found.dlfo_link_map->l_name, found.dlfo_link_map->l_addr,
                             (const unsigned char *)found.dlfo_eh_frame};
    return true;
}
static bool loader_answers(void) { return _dl_find_object != NULL; }
#else
static bool ask_loader(uintptr_t address, lido__module *module) { return (void)address, (void)module, false; }
static bool loader_answers(void) { return false; }
#endif

bool lido__module_table(uintptr_t address, lido__module *module) {
    if (loader_answers()) return ask_loader(address, module);
    search s = {address, module};
    return dl_iterate_phdr(look_at, &s) != 0;
}

bool lido__module_of(uintptr_t address, lido__module *module) {
    if (!lido__module_table(address, module)) return false;
    if (module->path == NULL || module->path[0] == '\0') module->path = program_path();
    return true;
}
