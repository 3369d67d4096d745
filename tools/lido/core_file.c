// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See core_file.h. A core is an ELF file: notes say which files were mapped where (NT_FILE), and its parts hold, if the
// system wrote them (it does by default), the first page of each mapped program, in which a build has its identity.
#include "core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_OFFSET = 40, NAME_BYTES = 16 };    // pr_fname in the note NT_PRPSINFO of 64-bit Linux

typedef struct mapped {
    const unsigned char *bytes;
    size_t length;
} mapped;

typedef struct core_view {
    mapped file;
    char name[NAME_BYTES + 1];    // of the program, cut by the system; "" if the core does not say
    bool lists_files;
    bool has_program;       // a file of the program's name was mapped
    uint64_t first_page;    // where its first byte was
} core_view;

static bool open_file(const char *path, mapped *file, char *why, unsigned why_bytes) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &info) == 0;
    if (good && !S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "'%s' is no file", path);
    } else if (!good) {
        snprintf(why, why_bytes, "cannot read '%s': %s", path, strerror(errno));
    } else {
        file->length = (size_t)info.st_size;
        void *bytes = file->length > 0 ? mmap(NULL, file->length, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
        file->bytes = bytes != MAP_FAILED ? bytes : NULL;
        close(fd);
        return true;
    }
    if (fd >= 0) close(fd);
    return false;
}

static void close_file(const mapped *file) {
    if (file->bytes != NULL) munmap((void *)(uintptr_t)file->bytes, file->length);
}

static bool lies_within(const mapped *file, uint64_t offset, uint64_t bytes) {
    return offset <= file->length && bytes <= file->length - offset;
}

// The ELF header of a file of this program's own word size and of one of two types; NULL if it has none.
static const Elf64_Ehdr *header_of(const mapped *file, unsigned type, unsigned other) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)file->bytes;
    if (head == NULL || !lies_within(file, 0, sizeof *head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return NULL;
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || (head->e_type != type && head->e_type != other)) return NULL;
    if (head->e_phentsize != sizeof(Elf64_Phdr) || (head->e_phoff & 7) != 0) return NULL;
    return lies_within(file, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr)) ? head : NULL;
}

static const Elf64_Phdr *parts_of(const mapped *file, const Elf64_Ehdr *head) {
    return (const Elf64_Phdr *)(const void *)(file->bytes + head->e_phoff);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// NT_FILE: a count, the size of a page, for each mapping start, end and offset in pages, and then the names.
static void read_files(core_view *core, const unsigned char *note, size_t bytes, const char *wanted) {
    uint64_t count, row[3];
    if (bytes < 2 * sizeof count) return;
    memcpy(&count, note, sizeof count);
    if (count > (bytes - 2 * sizeof count) / sizeof row) return;
    core->lists_files = true;
    const unsigned char *rows = note + 2 * sizeof count;
    const char *name = (const char *)rows + count * sizeof row, *end = (const char *)note + bytes;
    for (uint64_t i = 0; i < count && name < end; i++) {
        size_t length = strnlen(name, (size_t)(end - name));
        if (length == (size_t)(end - name)) return;
        memcpy(row, rows + i * sizeof row, sizeof row);
        if (row[2] == 0 && strcmp(base_name(name), wanted) == 0) {
            core->has_program = true;
            core->first_page = row[0];
        }
        name += length + 1;
    }
}

static void read_notes(core_view *core, const Elf64_Phdr *part, const char *wanted) {
    if (!lies_within(&core->file, part->p_offset, part->p_filesz)) return;
    const unsigned char *at = core->file.bytes + part->p_offset, *end = at + part->p_filesz;
    Elf64_Nhdr note;
    while ((size_t)(end - at) >= sizeof note) {
        memcpy(&note, at, sizeof note);
        uint64_t head = sizeof note + (((uint64_t)note.n_namesz + 3) & ~UINT64_C(3));
        uint64_t whole = head + (((uint64_t)note.n_descsz + 3) & ~UINT64_C(3));
        if (whole > (uint64_t)(end - at)) return;
        if (note.n_type == NT_PRPSINFO && note.n_descsz >= NAME_OFFSET + NAME_BYTES)
            memcpy(core->name, at + head + NAME_OFFSET, NAME_BYTES);
        if (note.n_type == NT_FILE) read_files(core, at + head, note.n_descsz, wanted);
        at += whole;
    }
}

// What the core holds of the program's first page, NULL if nothing.
static const unsigned char *first_page_of(const core_view *core, const Elf64_Ehdr *head, size_t *bytes) {
    for (unsigned i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *part = &parts_of(&core->file, head)[i];
        if (part->p_type != PT_LOAD || part->p_vaddr != core->first_page) continue;
        if (part->p_filesz == 0 || !lies_within(&core->file, part->p_offset, part->p_filesz)) return NULL;
        *bytes = part->p_filesz < 4096 ? part->p_filesz : 4096;
        return core->file.bytes + part->p_offset;
    }
    return NULL;
}

static void warn_if_cut(const core_view *core, const Elf64_Ehdr *head, const char *path) {
    uint64_t whole = 0;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *part = &parts_of(&core->file, head)[i];
        if (part->p_filesz <= UINT64_MAX - part->p_offset && part->p_offset + part->p_filesz > whole)
            whole = part->p_offset + part->p_filesz;
    }
    if (whole <= core->file.length) return;
    fprintf(
        stderr,
        "lido core: warning: '%s' has %zu of %llu bytes (a full disk, or ulimit -c?); what is missing cannot be read\n",
        path, core->file.length, (unsigned long long)whole);
}

static bool fits(core_view *core, const mapped *program, const char *path, char *why, unsigned why_bytes) {
    const Elf64_Ehdr *head = header_of(&core->file, ET_CORE, ET_CORE);
    char real[PATH_MAX];
    const char *wanted = base_name(realpath(path, real) != NULL ? real : path);
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (parts_of(&core->file, head)[i].p_type == PT_NOTE) read_notes(core, &parts_of(&core->file, head)[i], wanted);
    }
    if (!core->lists_files) return true;    // of a system that does not say
    if (!core->has_program) {
        snprintf(why, why_bytes, "the core is of the program '%s', not of '%s'", core->name, path);
        return false;
    }
    size_t bytes = 0;
    const unsigned char *page = first_page_of(core, head, &bytes);
    if (page == NULL || (bytes <= program->length && memcmp(page, program->bytes, bytes) == 0)) return true;
    snprintf(why, why_bytes,
             "'%s' is not what the core was left by: it was built again since, or only has the same name", path);
    return false;
}

int lido_core_check(const char *core_path, const char *program_path, char *why, unsigned why_bytes) {
    core_view core = {.lists_files = false};
    mapped program = {NULL, 0};
    bool good = open_file(core_path, &core.file, why, why_bytes) && open_file(program_path, &program, why, why_bytes);
    if (good && header_of(&core.file, ET_CORE, ET_CORE) == NULL) {
        good = false;
        bool swapped = header_of(&program, ET_CORE, ET_CORE) != NULL;
        snprintf(why, why_bytes, "'%s' is not a core file of 64 bits%s", core_path,
                 swapped ? "; the core comes first, then the program" : "");
    } else if (good && header_of(&program, ET_EXEC, ET_DYN) == NULL) {
        good = false;
        snprintf(why, why_bytes, "'%s' is not a program of 64 bits", program_path);
    }
    if (good) warn_if_cut(&core, header_of(&core.file, ET_CORE, ET_CORE), core_path);
    good = good && fits(&core, &program, program_path, why, why_bytes);
    close_file(&core.file);
    close_file(&program);
    return good ? 0 : -1;
}
