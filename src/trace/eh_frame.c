// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See eh_frame.h. The format is that of the Linux Standard Base 5.0, core, chapter 10.6, and DWARF 4, section 6.4.
//
//      .eh_frame_hdr   sorted pairs (start of a function, its FDE), both as 32-bit distances from the header
//      FDE             a function's start and length, its CIE, and a program that changes the rule as the address grows
//      CIE             what the FDEs of a module share: factors, encodings, the rule at a function's start
//
// The program is run up to the address. Only what a caller can be found with is kept: the CFA, rbp, the return address.
// The tables are the linker's and are believed; what is read of them stays within the lengths that they state.
#include "trace/eh_frame.h"

#if defined(__x86_64__)

#include "trace/module.h"

#include <string.h>

enum { RBP = 6, RSP = 7, RIP = 16 };    // DWARF's numbers
enum { DEPTH = 8 };                     // of remembered rules; compilers use 1

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

// Reading beyond the end gives zeroes, which is DW_CFA_nop.
static uint64_t take(cursor *c, size_t bytes) {
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < bytes) {
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    return value;
}

static void leave_out(cursor *c, uint64_t bytes) {
    c->at = bytes < (uint64_t)(c->end - c->at) ? c->at + bytes : c->end;
}

static uint64_t take_uleb(cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        unsigned char byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return value;
}

static int64_t take_sleb(cursor *c) {
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    while (c->at < c->end) {
        byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
        if (byte < 128) break;
    }
    if (shift < 64 && (byte & 64) != 0) value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

// A value by the lower half of its encoding (DW_EH_PE_*).
static uint64_t take_value(cursor *c, unsigned encoding) {
    switch (encoding & 15) {
        case 0x1: return take_uleb(c);
        case 0x2: return take(c, 2);
        case 0x3: return take(c, 4);
        case 0x9: return (uint64_t)take_sleb(c);
        case 0xA: return (uint64_t)(int16_t)take(c, 2);
        case 0xB: return (uint64_t)(int32_t)take(c, 4);
        default: return take(c, 8);
    }
}

static uint64_t take_address(cursor *c, unsigned encoding) {
    uintptr_t here = (uintptr_t)c->at;
    uint64_t value = take_value(c, encoding);
    return (encoding & 0x70) == 0x10 ? value + here : value;
}

// --- the rule as it changes -----------------------------------------------------------------------------------------

typedef enum how { SAME, AT_CFA, UNDEFINED, AT_RBP, OTHER } how;
typedef struct state {
    unsigned cfa_register;
    int64_t cfa;
    cursor cfa_expression;    // at == NULL: none
    how rbp, rip;
    int64_t rbp_offset, rip_offset;    // from the CFA
} state;

typedef struct program {
    uint64_t code_factor;
    int64_t data_factor;
    unsigned encoding;    // of addresses in FDEs
    bool has_data, is_signal;
    cursor start;     // the program of the CIE
    state initial;    // what it leaves behind
} program;

static void set(state *s, uint64_t reg, how kind, int64_t offset) {
    if (reg == RBP) {
        s->rbp = kind;
        s->rbp_offset = offset;
    } else if (reg == RIP) {
        s->rip = kind;
        s->rip_offset = offset;
    }
}

static void restore(const program *p, state *s, uint64_t reg) {
    if (reg == RBP) set(s, RBP, p->initial.rbp, p->initial.rbp_offset);
    if (reg == RIP) set(s, RIP, p->initial.rip, p->initial.rip_offset);
}

static cursor take_block(cursor *c) {
    uint64_t bytes = take_uleb(c);
    cursor block = {c->at, c->end};
    leave_out(c, bytes);
    block.end = c->at;
    return block;
}

// "saved where rbp points to" is all that is known of expressions for registers: DW_OP_breg6 0.
static void set_expression(cursor *c, state *s) {
    uint64_t reg = take_uleb(c);
    cursor block = take_block(c);
    bool plain = block.end - block.at == 2 && block.at[0] == 0x76 && block.at[1] == 0;
    set(s, reg, plain && reg == RBP ? AT_RBP : OTHER, 0);
}

static void set_cfa(state *s, uint64_t reg, int64_t offset) {
    s->cfa_register = reg < 64 ? (unsigned)reg : 63;
    s->cfa = offset;
    s->cfa_expression.at = NULL;
}

// The instructions that neither move the address nor remember. False: not known.
static bool step(const program *p, state *s, unsigned op, cursor *c) {
    uint64_t reg;
    // clang-format off
    switch (op) {
        case 0x00: break;                                                                          // nop
        case 0x05: reg = take_uleb(c); set(s, reg, AT_CFA, (int64_t)take_uleb(c) * p->data_factor); break;    // offset
        case 0x06: restore(p, s, take_uleb(c)); break;
        case 0x07: set(s, take_uleb(c), UNDEFINED, 0); break;
        case 0x08: set(s, take_uleb(c), SAME, 0); break;
        case 0x09: set(s, take_uleb(c), OTHER, 0); take_uleb(c); break;                            // register
        case 0x0C: reg = take_uleb(c); set_cfa(s, reg, (int64_t)take_uleb(c)); break;              // def_cfa
        case 0x0D: set_cfa(s, take_uleb(c), s->cfa); break;                                        // def_cfa_register
        case 0x0E: s->cfa = (int64_t)take_uleb(c); break;                                          // def_cfa_offset
        case 0x0F: s->cfa_expression = take_block(c); break;                                       // def_cfa_expression
        case 0x10: set_expression(c, s); break;
        case 0x11: reg = take_uleb(c); set(s, reg, AT_CFA, take_sleb(c) * p->data_factor); break;  // offset_sf
        case 0x12: reg = take_uleb(c); set_cfa(s, reg, take_sleb(c) * p->data_factor); break;      // def_cfa_sf
        case 0x13: s->cfa = take_sleb(c) * p->data_factor; break;                                  // def_cfa_offset_sf
        case 0x14: set(s, take_uleb(c), OTHER, 0); take_uleb(c); break;                            // val_offset
        case 0x15: set(s, take_uleb(c), OTHER, 0); take_sleb(c); break;                            // val_offset_sf
        case 0x16: set(s, take_uleb(c), OTHER, 0); take_block(c); break;                           // val_expression
        case 0x2E: take_uleb(c); break;                                                            // GNU_args_size
        default: return false;
    }
    // clang-format on
    return true;
}

// How far an instruction moves the address; 0 if it does not.
static bool take_advance(unsigned op, cursor *c, uint64_t *by) {
    switch (op) {
        case 0x02: *by = take(c, 1); return true;
        case 0x03: *by = take(c, 2); return true;
        case 0x04: *by = take(c, 4); return true;
        default: *by = op & 63; return op >> 6 == 1;
    }
}

// Runs the instructions for addresses up to `distance` from the function's start.
static bool run(const program *p, state *s, cursor c, uint64_t distance) {
    state remembered[DEPTH];
    unsigned depth = 0;
    uint64_t at = 0, by;
    while (c.at < c.end) {
        unsigned op = *c.at++;
        if (take_advance(op, &c, &by)) {
            at += by * p->code_factor;
            if (at > distance) return true;
        } else if (op >> 6 == 2) {    // offset
            set(s, op & 63, AT_CFA, (int64_t)take_uleb(&c) * p->data_factor);
        } else if (op >> 6 == 3) {
            restore(p, s, op & 63);
        } else if (op == 0x0A) {
            if (depth == DEPTH) return false;
            remembered[depth++] = *s;
        } else if (op == 0x0B) {
            if (depth == 0) return false;
            *s = remembered[--depth];
        } else if (!step(p, s, op, &c)) {
            return false;
        }
    }
    return true;
}

// --- CIE and FDE ----------------------------------------------------------------------------------------------------

// A record behind its length; at == NULL for the end of the section, or one of 64 bits.
static cursor open_record(const unsigned char *start) {
    uint32_t length;
    memcpy(&length, start, sizeof length);
    if (length == 0 || length == UINT32_MAX) return (cursor){NULL, NULL};
    return (cursor){start + 4, start + 4 + length};
}

static bool read_augmentation(program *p, cursor *c, const char *letters) {
    if (*letters == '\0') return true;
    if (*letters != 'z') return false;
    p->has_data = true;
    uint64_t bytes = take_uleb(c);
    cursor data = *c;
    leave_out(c, bytes);
    data.end = c->at;
    while (*++letters != '\0') {
        switch (*letters) {
            case 'R': p->encoding = (unsigned)take(&data, 1); break;
            case 'P': take_value(&data, (unsigned)take(&data, 1)); break;
            case 'L': take(&data, 1); break;
            case 'S': p->is_signal = true; break;
            default: return false;
        }
    }
    return true;
}

static bool read_cie(const unsigned char *start, program *p) {
    cursor c = open_record(start);
    if (c.at == NULL || take(&c, 4) != 0) return false;
    unsigned version = (unsigned)take(&c, 1);
    if (version != 1 && version != 3) return false;
    const char *letters = (const char *)c.at;
    while (take(&c, 1) != 0) {
    }
    memset(p, 0, sizeof *p);
    p->code_factor = take_uleb(&c);
    p->data_factor = take_sleb(&c);
    uint64_t return_register = version == 1 ? take(&c, 1) : take_uleb(&c);
    if (return_register != RIP || !read_augmentation(p, &c, letters)) return false;
    p->start = c;
    p->initial.cfa_register = RSP;
    return run(p, &p->initial, p->start, UINT64_MAX);
}

static unsigned value_bytes(unsigned encoding) {
    static const unsigned char bytes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8, 0, 0, 0};
    return bytes[encoding & 15];
}

// --- what it comes to -----------------------------------------------------------------------------------------------

static const lido__rule unknown = {LIDO__LEAVE_UNKNOWN, 0, 0};

// Entries of the PLT are 16 bytes and push one word on the way: rsp + 8 + ((rip & 15) >= N ? 8 : 0). Or a realigned
// stack: *(rbp + n).
static lido__rule from_expression(const state *s, uintptr_t address) {
    static const unsigned char head[] = {0x77, 0x08, 0x80, 0x00, 0x3F, 0x1A}, tail[] = {0x2A, 0x33, 0x24, 0x22};
    cursor c = s->cfa_expression;
    size_t bytes = (size_t)(c.end - c.at);
    if (bytes == sizeof head + 1 + sizeof tail && memcmp(c.at, head, sizeof head) == 0 &&
        memcmp(c.at + sizeof head + 1, tail, sizeof tail) == 0) {
        unsigned from = c.at[sizeof head] - 0x30u;    // DW_OP_lit0 + N
        return (lido__rule){LIDO__LEAVE_RSP, (address & 15) >= from ? 16 : 8, 0};
    }
    if (bytes >= 3 && *c.at++ == 0x76) {
        int64_t offset = take_sleb(&c);
        if (c.end - c.at == 1 && *c.at == 0x06 && s->rbp == AT_RBP) return (lido__rule){LIDO__LEAVE_DEREF, offset, 0};
    }
    return unknown;
}

static lido__rule conclude(const program *p, const state *s, uintptr_t address) {
    if (p->is_signal) return (lido__rule){LIDO__LEAVE_SIGNAL, 0, 0};
    if (s->rip == UNDEFINED) return (lido__rule){LIDO__LEAVE_END, 0, 0};
    if (s->rip != AT_CFA || s->rip_offset != -8) return unknown;
    if (s->cfa_expression.at != NULL) return from_expression(s, address);
    if (s->rbp == OTHER || s->rbp == AT_RBP) return unknown;
    lido__leave leave = s->cfa_register == RSP   ? LIDO__LEAVE_RSP
                        : s->cfa_register == RBP ? LIDO__LEAVE_RBP
                                                 : LIDO__LEAVE_UNKNOWN;
    return (lido__rule){leave, s->cfa, s->rbp == AT_CFA ? -s->rbp_offset : 0};
}

static lido__rule read_fde(const unsigned char *start, uintptr_t address) {
    program p;
    cursor c = open_record(start);
    if (c.at == NULL) return unknown;
    const unsigned char *here = c.at;
    uint32_t back = (uint32_t)take(&c, 4);
    if (back == 0 || !read_cie(here - back, &p) || value_bytes(p.encoding) == 0 || (p.encoding & 0x60) != 0)
        return unknown;
    uint64_t first = take_address(&c, p.encoding), bytes = take_value(&c, p.encoding & 15);
    if (value_bytes(p.encoding) == 4) bytes = (uint32_t)bytes;
    if (address - first >= bytes) return unknown;
    if (p.has_data) leave_out(&c, take_uleb(&c));
    state s = p.initial;
    return run(&p, &s, c, address - first) ? conclude(&p, &s, address) : unknown;
}

lido__rule lido__eh_frame_rule(uintptr_t address) {
    lido__module module;
    if (!lido__module_table(address, &module) || module.table == NULL) return unknown;
    const unsigned char *table = module.table;
    // version 1; counts as 4 bytes; pairs of 4 bytes each relative to the table: what every linker writes
    if (table[0] != 1 || table[2] != 0x03 || table[3] != 0x3B || value_bytes(table[1]) != 4) return unknown;
    uint32_t count;
    memcpy(&count, table + 8, sizeof count);
    const unsigned char *pairs = table + 12;
    int32_t pair[2];
    int64_t wanted = (int64_t)(address - (uintptr_t)table);
    size_t low = 0, high = count;    // the last that starts at or before: low - 1
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        memcpy(pair, pairs + middle * sizeof pair, sizeof pair);
        if (pair[0] <= wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return unknown;
    memcpy(pair, pairs + (low - 1) * sizeof pair, sizeof pair);
    return read_fde(table + pair[1], address);
}

#endif
