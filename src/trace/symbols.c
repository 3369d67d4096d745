// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See symbols.h. .symtab if the file was not stripped, else .dynsym; both are searched from one end to the other, as
// they are in no order. Nothing that the file says of itself is believed before it is compared with the file's size.
#include "trace/symbols.h"

#include "base/format.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct image {
    const char *start;
    size_t bytes;
} image;

static image map_file(const char *path) {
    image file = {NULL, 0};
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return file;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
        void *start = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (start != MAP_FAILED) file = (image){(const char *)start, (size_t)info.st_size};
    }
    close(fd);
    return file;
}

// A part of the file; NULL if it is not all there, or not aligned for what it holds.
static const void *part(const image *file, uint64_t offset, uint64_t bytes) {
    if (offset > file->bytes || bytes > file->bytes - offset || offset % 8 != 0) return NULL;
    return file->start + offset;
}

static const ElfW(Shdr) * sections(const image *file, unsigned *count) {
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)file->start;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        head->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    *count = head->e_shnum;
    return (const ElfW(Shdr) *)part(file, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)));
}

static void search(const image *file, const ElfW(Shdr) * symbols, const ElfW(Shdr) * strings, size_t offset,
                   lido__text *name) {
    size_t count = symbols->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *all = (const ElfW(Sym) *)part(file, symbols->sh_offset, symbols->sh_size);
    if (all == NULL || strings->sh_offset > file->bytes || strings->sh_size > file->bytes - strings->sh_offset) return;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *s = &all[i];
        unsigned kind = s->st_info & 15;
        bool here = (kind == STT_FUNC || kind == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
                    offset - s->st_value < s->st_size;
        if (!here || s->st_name >= strings->sh_size) continue;
        const char *text = file->start + strings->sh_offset + s->st_name;
        lido__text_chars(name, text, strnlen(text, strings->sh_size - s->st_name));
        return;
    }
}

void lido__symbol_name(const char *path, size_t offset, char *name, size_t name_bytes) {
    static const ElfW(Word) kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    int saved = errno;
    unsigned count = 0;
    lido__text text = lido__text_over(name, name_bytes);
    image file = map_file(path);
    const ElfW(Shdr) *all = file.start != NULL ? sections(&file, &count) : NULL;
    for (unsigned kind = 0; kind < 2 && all != NULL && text.length == 0; kind++) {
        for (unsigned i = 0; i < count; i++) {
            if (all[i].sh_type == kinds[kind] && all[i].sh_link < count)
                search(&file, &all[i], &all[all[i].sh_link], offset, &text);
        }
    }
    if (file.start != NULL) munmap((void *)(uintptr_t)file.start, file.bytes);
    errno = saved;
}
