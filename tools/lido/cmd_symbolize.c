// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// `lido symbolize`: function, file and line of addresses, out of debug information (libdw). The library starts it for
// reports (src/trace/symbolizer.h, which states the lines); it serves a person as well.
//
//      question:   MODULE_PATH HEX_OFFSET
//      answer:     FUNCTION <tab> FILE <tab> LINE { <tab> FUNCTION <tab> FILE <tab> LINE }
//
// The first triple is the innermost: a function inlined at the address; each further one is the function around it, and
// where that calls. libdw is loaded when the command runs, so that bin/lido itself needs nothing but libc. One line is
// answered to each question, at once, as the other side waits for it.
#include "command.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is used of libdw.
// clang-format off
#define FUNCTIONS(X) \
    X(dwfl_begin) X(dwfl_end) X(dwfl_report_offline) X(dwfl_report_end) X(dwfl_module_getelf) \
    X(dwfl_module_addrinfo) X(dwfl_module_nextcu) X(dwarf_haspc) X(dwarf_getsrc_die) X(dwarf_linesrc) X(dwarf_lineno) X(dwfl_module_addrdie) \
    X(dwfl_build_id_find_elf) X(dwfl_standard_find_debuginfo) X(dwfl_offline_section_address) \
    X(dwarf_tag) X(dwarf_diename) X(dwarf_attr) X(dwarf_formudata) X(dwarf_getsrcfiles) X(dwarf_filesrc) \
    X(dwarf_getscopes) X(dwarf_getscopes_die)
// clang-format on
#define POINTER(name) __typeof__(&(name)) name;
static struct { FUNCTIONS(POINTER) } dw;

static char *no_path = NULL;
static Dwfl_Callbacks callbacks = {.debuginfo_path = &no_path};

// The library stays until the process ends.
static bool load_libdw(void) {
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL), *at;
    if (library == NULL) return false;
#define FIND(name)                                          \
    if ((at = dlsym(library, #name)) == NULL) return false; \
    memcpy(&dw.name, &at, sizeof at);
    FUNCTIONS(FIND)
    callbacks.find_elf = dw.dwfl_build_id_find_elf;
    callbacks.find_debuginfo = dw.dwfl_standard_find_debuginfo;
    callbacks.section_address = dw.dwfl_offline_section_address;
    return true;
}

// Files that were asked about stay open: a report asks about few files many times.
typedef struct source {
    struct source *next;
    Dwfl *dwfl;
    Dwfl_Module *module;    // NULL: the file cannot be read
    Dwarf_Addr bias;        // address that libdw knows - address in the file
    char path[];
} source;

static void open_module(source *s) {
    GElf_Addr bias = 0;
    s->dwfl = dw.dwfl_begin(&callbacks);
    if (s->dwfl == NULL) return;
    s->module = dw.dwfl_report_offline(s->dwfl, s->path, s->path, -1);
    dw.dwfl_report_end(s->dwfl, NULL, NULL);
    if (s->module != NULL && dw.dwfl_module_getelf(s->module, &bias) == NULL) s->module = NULL;
    s->bias = bias;
}

// NULL: out of memory.
static source *source_for(source **all, const char *path) {
    for (source *s = *all; s != NULL; s = s->next)
        if (strcmp(s->path, path) == 0) return s;
    source *s = calloc(1, sizeof *s + strlen(path) + 1);
    if (s == NULL) return NULL;
    strcpy(s->path, path);
    s->next = *all;
    *all = s;
    open_module(s);
    return s;
}

static void close_all(source *s) {
    while (s != NULL) {
        source *next = s->next;
        if (s->dwfl != NULL) dw.dwfl_end(s->dwfl);
        free(s);
        s = next;
    }
}

// --- answers --------------------------------------------------------------------------------------------------------

// A field never holds what parts fields and lines.
static void print_field(const char *text) {
    if (text == NULL || *text == '\0') text = "?";
    for (; *text != '\0'; text++) putchar(*text == '\t' || *text == '\n' ? ' ' : *text);
}

static void print_triple(bool first, const char *function, const char *file, int line) {
    if (!first) putchar('\t');
    print_field(function);
    putchar('\t');
    print_field(file);
    if (file != NULL && line > 0)
        printf("\t%d", line);
    else
        printf("\t?");
}

static bool is_function(Dwarf_Die *die) {
    int tag = dw.dwarf_tag(die);
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram;
}

// Where an inlined function was called.
static const char *call_site(Dwarf_Die *unit, Dwarf_Die *inlined, int *line) {
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Files *files;
    size_t count;
    *line = dw.dwarf_formudata(dw.dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0 ? (int)number : 0;
    bool known = dw.dwarf_formudata(dw.dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0 &&
                 dw.dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count;
    return known ? dw.dwarf_filesrc(files, number, NULL, NULL) : NULL;
}

// The functions around the address, the innermost first. Returns how many there were.
static int print_scopes(Dwarf_Die *unit, Dwarf_Addr address, const char *file, int line, const char *symbol) {
    Dwarf_Die *at = NULL, *scopes = NULL;
    int printed = 0, count = 0;
    // what is around an inlined function is its caller only in the second list; the first has its declaration there
    if (dw.dwarf_getscopes(unit, address, &at) > 0) count = dw.dwarf_getscopes_die(&at[0], &scopes);
    for (int i = 0; i < count; i++) {
        if (!is_function(&scopes[i])) continue;
        bool outermost = dw.dwarf_tag(&scopes[i]) == DW_TAG_subprogram;
        const char *name = dw.dwarf_diename(&scopes[i]);
        print_triple(printed++ == 0, name != NULL || !outermost ? name : symbol, file, line);
        if (outermost) break;
        file = call_site(unit, &scopes[i], &line);
    }
    free(scopes);
    free(at);
    return printed;
}

// The unit of an address. libdw's own search knows units that are in .debug_aranges, which clang does not write.
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias) {
    Dwarf_Die *unit = dw.dwfl_module_addrdie(module, address, bias);
    if (unit != NULL) return unit;
    while ((unit = dw.dwfl_module_nextcu(module, unit, bias)) != NULL && dw.dwarf_haspc(unit, address - *bias) != 1) {
    }
    return unit;
}

static void answer(const source *s, Dwarf_Addr offset) {
    Dwarf_Addr address = offset + s->bias, bias = 0;
    const char *symbol = NULL, *file = NULL;
    int line = 0, printed = 0;
    if (s->module != NULL) {
        GElf_Off within;
        GElf_Sym sym;
        symbol = dw.dwfl_module_addrinfo(s->module, address, &within, &sym, NULL, NULL, NULL);
        if (symbol != NULL && within >= sym.st_size) symbol = NULL;    // the nearest, not the one around it
        Dwarf_Die *unit = unit_of(s->module, address, &bias);
        Dwarf_Line *at = unit != NULL ? dw.dwarf_getsrc_die(unit, address - bias) : NULL;
        if (at != NULL && dw.dwarf_lineno(at, &line) == 0) file = dw.dwarf_linesrc(at, NULL, NULL);
        if (unit != NULL) printed = print_scopes(unit, address - bias, file, line, symbol);
    }
    if (printed == 0) print_triple(true, symbol, file, line);
    putchar('\n');
    fflush(stdout);
}

// --- questions ------------------------------------------------------------------------------------------------------

// The offset is behind the last blank, as paths may have blanks.
static bool parse(char *text, Dwarf_Addr *offset) {
    char *blank = strrchr(text, ' '), *end;
    if (blank == NULL || blank == text || strchr("0123456789abcdefABCDEF", blank[1]) == NULL || blank[1] == '\0')
        return false;
    errno = 0;
    *offset = strtoull(blank + 1, &end, 16);
    if (*end != '\0' || errno != 0) return false;
    *blank = '\0';
    return true;
}

static int complain_of_line(unsigned long number, const char *text) {
    fflush(stdout);
    fprintf(stderr, "lido symbolize: line %lu: '%.200s' is not 'MODULE_PATH HEX_OFFSET'\n", number, text);
    return LIDO_EXIT_FAILURE;
}

static int symbolize_main(int argc, char **argv) {
    char *text = NULL;
    size_t room = 0;
    source *all = NULL;
    int status = LIDO_EXIT_OK;
    if (argc > 1) {
        fprintf(stderr,
                "lido symbolize: unexpected word '%s'; it takes none, and reads lines 'MODULE_PATH HEX_OFFSET'\n",
                argv[1]);
        return LIDO_EXIT_USAGE;
    }
    if (!load_libdw()) {
        fprintf(stderr,
                "lido symbolize: there is no libdw.so.1, which reads debug information; install the package libdw1\n");
        return LIDO_EXIT_NOT_FOUND;
    }
    unsetenv("DEBUGINFOD_URLS");    // libdw would ask servers for what is not here, and reports do not wait for those
    ssize_t length;
    for (unsigned long number = 1; status == LIDO_EXIT_OK && (length = getline(&text, &room, stdin)) > 0; number++) {
        Dwarf_Addr offset;
        if (text[length - 1] == '\n') text[length - 1] = '\0';
        const source *s = NULL;
        if (!parse(text, &offset)) {
            status = complain_of_line(number, text);
        } else if ((s = source_for(&all, text)) == NULL) {
            fprintf(stderr, "lido symbolize: out of memory\n");
            status = LIDO_EXIT_FAILURE;
        } else {
            answer(s, offset);
        }
    }
    close_all(all);
    free(text);
    return status;
}

const lido_command lido_command_symbolize = {
    "symbolize", "say which function and line addresses belong to", symbolize_main,
    "usage: lido symbolize <QUESTIONS\n"
    "\n"
    "Reads lines 'MODULE_PATH HEX_OFFSET': the path of a program or library, and an address within it (0x is "
    "optional).\n"
    "Answers each with one line of fields that are parted by tabs:\n"
    "  FUNCTION  FILE  LINE       and, if that function was inlined, again the three of the function around it\n"
    "with ? for what is not known; a file that cannot be read is not known at all. Lines need debug information (-g), "
    "in the\n"
    "file or in a package of its own. Reports of check mode are made readable by this command.\n"
    "\n"
    "Exit status: 0; 1 for a line that is no question, after the answers to those before it; 2 for a wrong command "
    "line.\n"};
