// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The search for a program, and the cases in which the dynamic linker silently ignores LD_PRELOAD.
#include "program.h"

#include "command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static int refuse(const char *name, const char *path, char *why, unsigned why_bytes) {
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    snprintf(why, why_bytes, "cannot run '%s': %s", name, folder ? "it is a directory" : "permission denied");
    return LIDO_EXIT_CANNOT_RUN;
}

static int find_in_path(const char *name, char *path, unsigned path_bytes, char *why, unsigned why_bytes) {
    const char *at = getenv("PATH");
    char forbidden[4096] = "";
    if (at == NULL) at = "/usr/local/bin:/usr/bin:/bin";
    for (bool more = true; more;) {
        int length = (int)strcspn(at, ":");
        // An empty entry is the current folder.
        snprintf(path, path_bytes, "%.*s/%s", length > 0 ? length : 1, length > 0 ? at : ".", name);
        if (is_file(path) && access(path, X_OK) == 0) return LIDO_EXIT_OK;
        if (is_file(path) && forbidden[0] == '\0') snprintf(forbidden, sizeof forbidden, "%s", path);
        more = at[length] == ':';
        at += length + more;
    }
    if (forbidden[0] != '\0') return refuse(forbidden, forbidden, why, why_bytes);
    snprintf(why, why_bytes, "there is no program '%s' in PATH", name);
    return LIDO_EXIT_NOT_FOUND;
}

int lido_program_find(const char *name, char *path, unsigned path_bytes, char *why, unsigned why_bytes) {
    if (strchr(name, '/') == NULL && name[0] != '\0') return find_in_path(name, path, path_bytes, why, why_bytes);
    snprintf(path, path_bytes, "%s", name);
    if (is_file(name) && access(name, X_OK) == 0) return LIDO_EXIT_OK;
    if (access(name, F_OK) == 0 || errno == EACCES) return refuse(name, name, why, why_bytes);
    snprintf(why, why_bytes, "there is no program '%s'", name);
    return LIDO_EXIT_NOT_FOUND;
}

static bool reads_at(int fd, void *into, size_t bytes, off_t offset) {
    return pread(fd, into, bytes, offset) == (ssize_t)bytes;
}

// Only for files of this program's own class: a dynamic program names its linker in PT_INTERP.
static bool has_interpreter(int fd, const Elf64_Ehdr *head) {
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;
        if (!reads_at(fd, &part, sizeof part, (off_t)(head->e_phoff + (uint64_t)i * head->e_phentsize))) return true;
        if (part.p_type == PT_INTERP) return true;
    }
    return false;
}

static const char *check_elf(int fd) {
    Elf64_Ehdr head;
    if (!reads_at(fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return NULL;
    unsigned char own = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (head.e_ident[EI_CLASS] != own) return "it has another word size than liblido-malloc.so";
    if (own == ELFCLASS64 && !has_interpreter(fd, &head)) return "it is statically linked";
    return NULL;
}

const char *lido_program_ignores_preload(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return NULL;
    if ((info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid()) return "it runs as another user (set-user-ID)";
    if ((info.st_mode & S_ISGID) != 0 && info.st_gid != getegid()) return "it runs as another group (set-group-ID)";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    const char *why = check_elf(fd);
    close(fd);
    return why;
}
