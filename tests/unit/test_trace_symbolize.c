// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Names of addresses: from the files' own symbols, from `lido symbolize`, and with symbolizers that are absent, die,
// hang, or talk nonsense, none of which may be felt but by missing lines. Started with a word, the program is a small
// one that is copied to where there is no symbolizer.
#include "support.h"

#include "base/options.h"
#include "os/os.h"
#include "trace/symbolize.h"
#include "trace/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 5 };

static void *pcs[64];
static size_t count;

static LIDO__NOINLINE void descend(unsigned depth) {
    if (depth > 0) {
        descend(depth - 1);
    } else {
        count = lido__unwind(pcs, COUNT_OF(pcs), 0);
    }
    __asm__ volatile("" ::: "memory");
}

static char *program(void) {
    static char path[512];
    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    return path;
}

// `path` is kept from its end.
static void assert_path(const char *kept, const char *path) {
    size_t length = strlen(path), room = LIDO__FRAME_TEXT_BYTES - 1;
    if (length <= room) {
        assert_string_equal(kept, path);
    } else {
        assert_int_equal(strlen(kept), room);
        assert_memory_equal(kept, "...", 3);
        assert_string_equal(kept + 3, path + length - (room - 3));
    }
}

static void names_without_a_symbolizer(void **state) {
    (void)state;
    lido__frame frame;
    Dl_info info;
    descend(DEPTH);
    assert_true(count > DEPTH + 1);
    for (size_t i = 0; i <= DEPTH; i++) {
        errno = 12345;
        lido__frame_of(pcs[i], &frame);
        assert_int_equal(errno, 12345);
        assert_string_equal(frame.function, "descend");
        assert_path(frame.module, program());
        assert_ptr_equal(frame.pc, pcs[i]);
        assert_int_equal(frame.line, 0);
        assert_string_equal(frame.file, "");
        assert_int_not_equal(dladdr(pcs[i], &info), 0);
        assert_int_equal(frame.offset, (uintptr_t)pcs[i] - 1 - (uintptr_t)info.dli_fbase);
    }
    lido__frame_of(pcs[DEPTH + 1], &frame);
    assert_string_equal(frame.function, "names_without_a_symbolizer");
    assert_false(lido__frame_outward(&frame));
}

static void a_library(void **state) {
    (void)state;
    void *exported = dlsym(RTLD_DEFAULT, "sigprocmask");
    lido__frame frame;
    Dl_info info;
    assert_non_null(exported);
    assert_int_not_equal(dladdr(exported, &info), 0);
    lido__frame_of((char *)exported + 1, &frame);
    assert_int_equal(frame.offset, (uintptr_t)exported - (uintptr_t)info.dli_fbase);
    assert_path(frame.module, info.dli_fname);
    if (!UNIT_SANITIZED) assert_string_equal(frame.function, "sigprocmask");
}

static void addresses_of_nothing(void **state) {
    (void)state;
    static char zeroes[8];
    void *const nothing[] = {NULL, (void *)1, (void *)UINTPTR_MAX, &state};
    lido__frame frame;
    for (unsigned i = 0; i < COUNT_OF(nothing); i++) {
        memset(&frame, 'x', sizeof frame);
        lido__frame_of(nothing[i], &frame);
        assert_string_equal(frame.module, "");
        assert_string_equal(frame.function, "");
        assert_int_equal(frame.offset, 0);
    }
    lido__frame_of(zeroes + 1, &frame);    // data: of this program, but no function
    assert_string_equal(frame.function, "");
}

// --- symbolizers ----------------------------------------------------------------------------------------------------

static char folder[] = "/tmp/lido-symbolize-XXXXXX";
static char script[64];
static volatile sig_atomic_t children_ended;

static void use_script(const char *text) {
    if (script[0] == '\0') {
        assert_non_null(mkdtemp(folder));
        snprintf(script, sizeof script, "%s/symbolizer", folder);
    }
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(script, 0700), 0);
    snprintf(lido__option_texts_now.symbolizer, sizeof lido__option_texts_now.symbolizer, "%s", script);
}

static int remove_script(void **state) {
    (void)state;
    unlink(script);
    rmdir(folder);
    return 0;
}

static void on_child(int number) {
    (void)number;
    children_ended++;
}

static void assert_no_child(void) {
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(children_ended, 0);
}

static lido__frame ask_once(void *pc) {
    lido__frame frame;
    errno = 12345;
    assert_true(lido__symbolizer_open());
    lido__frame_of(pc, &frame);
    lido__symbolizer_close();
    assert_int_equal(errno, 12345);
    assert_no_child();
    return frame;
}

static void an_answer(void **state) {
    (void)state;
    use_script("while read -r line; do printf 'inner\\t/src/a.c\\t12\\touter\\tb.c\\t34\\tlast\\t?\\t?\\n'; done");
    lido__frame frame;
    assert_true(lido__symbolizer_open());
    assert_false(lido__symbolizer_open());
    for (unsigned round = 0; round < 3; round++) {    // one process
        lido__frame_of(pcs[0], &frame);
        assert_string_equal(frame.function, "inner");
        assert_string_equal(frame.file, "/src/a.c");
        assert_int_equal(frame.line, 12);
    }
    assert_true(lido__frame_outward(&frame));
    assert_string_equal(frame.function, "outer");
    assert_string_equal(frame.file, "b.c");
    assert_int_equal(frame.line, 34);
    assert_true(lido__frame_outward(&frame));
    assert_string_equal(frame.function, "last");
    assert_string_equal(frame.file, "");
    assert_int_equal(frame.line, 0);
    assert_false(lido__frame_outward(&frame));
    assert_string_equal(frame.function, "last");
    lido__symbolizer_close();
    assert_no_child();
}

static void ask_in_thread(unsigned index, void *argument) {
    (void)index;
    (void)argument;
    lido__frame frame;
    UNIT_CHECK(!lido__symbolizer_open());
    lido__frame_of(pcs[0], &frame);
    UNIT_CHECK(strcmp(frame.function, "descend") == 0 && frame.line == 0);
}

static void only_its_owner_asks(void **state) {
    (void)state;
    assert_true(lido__symbolizer_open());
    unit_threads(1, ask_in_thread, NULL);
    lido__symbolizer_close();
}

static void what_it_is_asked(void **state) {
    (void)state;
    char expected[640];
    use_script("while read -r line; do printf '%s\\t%s\\t1\\n' \"$0 $*\" \"$line\" | tail -c 120; done");
    lido__frame frame = ask_once(pcs[0]);
    snprintf(expected, sizeof expected, "%s symbolize\t%s 0x%zx", script, program(), frame.offset);
    assert_true(strstr(expected, frame.file) != NULL && strlen(frame.file) > 10);
}

static void its_environment(void **state) {
    (void)state;
    use_script("while read -r line; do printf '%s\\tf\\t1\\n' "
               "\"<$LIDO_OPTIONS$LD_PRELOAD$DEBUGINFOD_URLS$LIDO_TEST_KEPT>\"; done");
    setenv("LIDO_OPTIONS", "one", 1);
    setenv("LD_PRELOAD", "two", 1);
    setenv("DEBUGINFOD_URLS", "three", 1);
    setenv("LIDO_TEST_KEPT", "kept", 1);
    lido__frame frame = ask_once(pcs[0]);
    assert_string_equal(frame.function, "<kept>");
    unsetenv("LIDO_OPTIONS");
    unsetenv("LD_PRELOAD");
    unsetenv("DEBUGINFOD_URLS");
}

static void nonsense(void **state) {
    (void)state;
    static const char *const scripts[] = {
        "exit 3",                          // dies at once
        "read -r line; printf 'f\\tg'",    // half a line, and the end
        "read -r line; kill -9 $$",
        "read -r line; printf '\\n'; sleep 0.1",
        "read -r line; echo no tabs at all; sleep 0.1",
        "read -r line; printf '\\t\\t\\n'; sleep 0.1",
        "read -r line; printf '?\\t?\\t?\\n'; sleep 0.1",
        "exec 0<&- 1>&-; sleep 0.2",    // does not listen
    };
    for (unsigned i = 0; i < COUNT_OF(scripts); i++) {
        use_script(scripts[i]);
        lido__frame frame = ask_once(pcs[0]);
        assert_string_equal(frame.function, "descend");
        assert_int_equal(frame.line, 0);
    }
    use_script("read -r line; head -c 20000 /dev/zero | tr '\\0' f; printf '\\tfile\\t99999999999\\n'; sleep 0.1");
    lido__frame frame = ask_once(pcs[0]);    // too long for an answer: cut, and no fields are in what is left
    assert_int_equal(frame.line, 0);
    assert_string_equal(frame.function, "descend");
    use_script("read -r line; head -c 300 /dev/zero | tr '\\0' f; printf '\\t'; head -c 300 /dev/zero | tr '\\0' g; "
               "printf 'x\\t-1\\n'; sleep 0.1");
    frame = ask_once(pcs[0]);
    assert_int_equal(strlen(frame.function), LIDO__FRAME_TEXT_BYTES - 1);
    assert_int_equal(strlen(frame.file), LIDO__FRAME_TEXT_BYTES - 1);
    assert_memory_equal(frame.file, "...g", 4);
    assert_int_equal(frame.file[strlen(frame.file) - 1], 'x');
    assert_int_equal(frame.line, 0);
}

static void one_that_hangs(void **state) {
    (void)state;
    use_script("exec sleep 60");
    uint64_t start = lido__os_time_ns();
    assert_true(lido__symbolizer_open());
    for (unsigned i = 0; i < 3; i++) {    // the wait is once, not for each
        lido__frame frame;
        lido__frame_of(pcs[i], &frame);
        assert_string_equal(frame.function, "descend");
    }
    lido__symbolizer_close();
    uint64_t ms = (lido__os_time_ns() - start) / 1000000;
    assert_in_range(ms, 4900, 9000);
    assert_no_child();
}

// --- the real one ---------------------------------------------------------------------------------------------------

#ifdef LIDO_TEST_SYMBOLIZER
static char written[8192];
static void append(const char *text, size_t length, void *context) {
    assert_true(strlen(written) + length < sizeof written && context == &written);
    strncat(written, text, length);
}
#endif

static void the_real_one(void **state) {
    (void)state;
#ifdef LIDO_TEST_SYMBOLIZER
    snprintf(lido__option_texts_now.symbolizer, sizeof lido__option_texts_now.symbolizer, "%s", LIDO_TEST_SYMBOLIZER);
    unsigned line = __LINE__ + 1;
    count = lido__unwind(pcs, COUNT_OF(pcs), 0);
    lido__frame frame = ask_once(pcs[0]);
    assert_string_equal(frame.function, "the_real_one");
    assert_int_equal(frame.line, line);
    assert_non_null(strstr(frame.file, "test_trace_symbolize.c"));
    descend(DEPTH);
    written[0] = '\0';
    lido__stack_write(pcs, count, append, &written);
    assert_no_child();
    assert_int_equal(strncmp(written, "    #0 0x", 9), 0);
    assert_non_null(strstr(written, " in descend ("));
    assert_non_null(strstr(written, "tests/unit/test_trace_symbolize.c:"));
#else
    skip();    // this build has no bin/lido
#endif
}

// A stack as a checked call leaves it: two functions of lido's on top, and what is before main.
static LIDO__NOINLINE void lido__like_one_of_ours(void) {
    count = lido__unwind(pcs, COUNT_OF(pcs), 0);
    __asm__ volatile("" ::: "memory");
}
static LIDO__NOINLINE void a_static_of_ours(void) {
    lido__like_one_of_ours();
    __asm__ volatile("" ::: "memory");
}
LIDO__NOINLINE void lido__like_an_entry(void);
void lido__like_an_entry(void) {
    a_static_of_ours();
    __asm__ volatile("" ::: "memory");
}
static LIDO__NOINLINE void caller(void) {
    lido__like_an_entry();
    __asm__ volatile("" ::: "memory");
}

static char names[512];
static void append_name(const lido__frame *frame, size_t number, bool inlined, void *context) {
    assert_false(inlined);
    snprintf(names + strlen(names), sizeof names - strlen(names), "%u %s|", (unsigned)number, frame->function);
    assert_ptr_equal(context, names);
}

static void none_wanted(void **state) {
    (void)state;
    use_script("read -r line; printf 'f\\tfile\\t1\\n'; sleep 0.1");
    lido_options_set("symbolizer=none");
    assert_false(lido__symbolizer_open());
    lido__frame frame;
    lido__frame_of(pcs[0], &frame);
    assert_string_equal(frame.function, "descend");
    assert_int_equal(frame.line, 0);
    assert_no_child();
    lido_options_set("symbolizer=-");
    assert_true(lido__symbolizer_open());
    lido__symbolizer_close();
}

static void ends_of_a_stack(void **state) {
    (void)state;
    caller();
    use_script("exit 0");    // names without lines
    names[0] = '\0';
    lido__stack_each(pcs, count, append_name, names);
    assert_int_equal(strncmp(names, "0 caller|1 ends_of_a_stack|2 ", 29), 0);
    const char *last = strstr(names, " main|");
    assert_true(last == NULL || last[6] == '\0');
    assert_true(last != NULL || count == COUNT_OF(pcs));
    names[0] = '\0';
    lido__stack_each(pcs, 1, append_name, names);    // nothing but ours: then all of it
    assert_string_equal(names, "0 lido__like_one_of_ours|");
}

static void absent(void **state) {
    (void)state;
    char copy[80], command[128], text[4096];
    use_script("exit 0");    // makes the folder
    snprintf(copy, sizeof copy, "%s/alone", folder);
    int from = open("/proc/self/exe", O_RDONLY), to = open(copy, O_WRONLY | O_CREAT, 0700);
    struct stat info;
    assert_true(from >= 0 && to >= 0 && fstat(from, &info) == 0);
    for (off_t at = 0; at < info.st_size;) assert_true(sendfile(to, from, &at, (size_t)(info.st_size - at)) > 0);
    close(from);
    close(to);
    snprintf(command, sizeof command, "PATH= %s alone", copy);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
    unlink(copy);
    snprintf(command, sizeof command, " in descend (%s+0x", copy);
    assert_non_null(strstr(text, command));
    assert_null(strstr(text, "test_trace_symbolize.c:"));
}

static void print(const char *text, size_t length, void *context) { fwrite(text, 1, length, (FILE *)context); }

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        descend(DEPTH);
        lido__stack_write(pcs, count, print, stdout);
        return 0;
    }
    struct sigaction action = {.sa_handler = on_child};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_a_symbolizer),
        cmocka_unit_test(a_library),
        cmocka_unit_test(addresses_of_nothing),
        cmocka_unit_test(an_answer),
        cmocka_unit_test(only_its_owner_asks),
        cmocka_unit_test(what_it_is_asked),
        cmocka_unit_test(its_environment),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(one_that_hangs),
        cmocka_unit_test(none_wanted),
        cmocka_unit_test(ends_of_a_stack),
        cmocka_unit_test(the_real_one),
        cmocka_unit_test(absent),
    };
    if (sigaction(SIGCHLD, &action, NULL) != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, remove_script);
}
