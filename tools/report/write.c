// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Writes the page. The data stand in a <script> that is not run; in valid JSON a '<' can only be inside a string, so each
// is written as \u003c, and no string of the data can end the <script> or open a comment in it. A regular file is written
// under a temporary name in its own folder and renamed; a device or a pipe is written directly.
#include "report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_data(FILE *out, const report_data *data) {
    const char *at = data->bytes, *end = data->bytes + data->byte_count;
    while (at < end) {
        const char *less = memchr(at, '<', (size_t)(end - at));
        fwrite(at, 1, (size_t)((less != NULL ? less : end) - at), out);
        if (less == NULL) return;
        fputs("\\u003c", out);
        at = less + 1;
    }
}

// Returns 0 or an errno.
static int put_page(FILE *out, const report_data *data) {
    errno = 0;
    fputs(report_page_head, out);
    put_data(out, data);
    fputs(report_page_tail, out);
    if (fflush(out) == 0 && !ferror(out)) return 0;
    return errno != 0 ? errno : EIO;
}

static int put_and_close(FILE *out, const report_data *data) {
    if (out == NULL) return errno;
    int error = put_page(out, data);
    if (fclose(out) != 0 && error == 0) error = errno;
    return error;
}

// What open() would have given the file.
static mode_t new_file_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int replace_file(const char *name, const report_data *data) {
    char *temporary;
    if (asprintf(&temporary, "%s.XXXXXX", name) < 0) return ENOMEM;
    int file = mkstemp(temporary);
    if (file < 0) {
        int error = errno;
        free(temporary);
        return error;
    }
    int error = fchmod(file, new_file_mode()) != 0 ? errno : 0;
    FILE *out = fdopen(file, "w");
    if (out == NULL) close(file);
    int written = put_and_close(out, data);
    if (error == 0) error = written;
    if (error == 0 && rename(temporary, name) != 0) error = errno;
    if (error != 0) unlink(temporary);
    free(temporary);
    return error;
}

static int write_file(const char *name, const report_data *data) {
    struct stat status;
    if (stat(name, &status) == 0 && !S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? EISDIR : put_and_close(fopen(name, "we"), data);
    char *target = realpath(name, NULL);    // a link stays one, and what it leads to is replaced
    int error = replace_file(target != NULL ? target : name, data);
    free(target);
    return error;
}

int report_page_write(const report_data *data, const char *name) {
    bool is_stdout = strcmp(name, "-") == 0;
    int error = is_stdout ? put_page(stdout, data) : write_file(name, data);
    if (error == 0) return 0;
    fprintf(stderr, "lido report: %s: %s; nothing was written there, -o FILE takes another place\n",
            is_stdout ? "stdout" : name, strerror(error));
    if (is_stdout) clearerr(stdout);    // said; main() need not say it again
    return -1;
}
