// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See format.h. Thread-safe as far as the buffer is the caller's own.
#include "base/format.h"

#include <stdarg.h>

lido__text lido__text_over(char *buffer, size_t bytes) {
    buffer[0] = '\0';
    return (lido__text){.start = buffer, .bytes = bytes, .length = 0};
}

void lido__text_chars(lido__text *text, const char *s, size_t count) {
    for (size_t i = 0; i < count && text->length + 1 < text->bytes; i++) text->start[text->length++] = s[i];
    text->start[text->length] = '\0';
}

void lido__text_string(lido__text *text, const char *s) {
    if (s == NULL) s = "(null)";
    size_t length = 0;
    while (s[length] != '\0') length++;
    lido__text_chars(text, s, length);
}

static void append_in_base(lido__text *text, uint64_t n, unsigned base) {
    char digits[20];
    unsigned count = 0;
    do {
        digits[count++] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n != 0);
    while (count > 0) lido__text_chars(text, &digits[--count], 1);
}

void lido__text_number(lido__text *text, uint64_t n) { append_in_base(text, n, 10); }

void lido__text_address(lido__text *text, const void *p) {
    lido__text_string(text, "0x");
    append_in_base(text, (uintptr_t)p, 16);
}

void lido__text_json(lido__text *text, const char *s) {
    static const char digits[] = "0123456789abcdef";
    lido__text_string(text, "\"");
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        char escaped[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
        if (c == '"' || c == '\\') lido__text_string(text, "\\");
        if (c < 0x20) {
            lido__text_chars(text, escaped, sizeof escaped);
        } else {
            lido__text_chars(text, s, 1);
        }
    }
    lido__text_string(text, "\"");
}

void lido__text_vformat(lido__text *text, const char *format, __builtin_va_list arguments) {
    for (const char *c = format; *c != '\0'; c++) {
        if (*c != '%') {
            lido__text_chars(text, c, 1);
            continue;
        }
        switch (*++c) {
            case 's': lido__text_string(text, va_arg(arguments, const char *)); break;
            case 'u': lido__text_number(text, va_arg(arguments, unsigned)); break;
            case 'z': lido__text_number(text, va_arg(arguments, size_t)); break;
            case 'p': lido__text_address(text, va_arg(arguments, const void *)); break;
            case '\0': return;
            default: lido__text_chars(text, c, 1); break;
        }
    }
}

void lido__text_format(lido__text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    lido__text_vformat(text, format, arguments);
    va_end(arguments);
}

bool lido__parse_number(const char *s, size_t length, uint64_t *out) {
    if (length == 0) return false;
    uint64_t n = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, digit, &n)) return false;
    }
    *out = n;
    return true;
}
