// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The data of a report: reading the file, and checking it against the shape below, which is the schema lido-bench/2.
#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char schema_name[] = "lido-bench/", schema[] = "lido-bench/2";
static const char measure_again[] = "measure again: lido bench --save FILE";

// ---- Reading -------------------------------------------------------------------------------------------------------

static int read_all(report_data *data, int file) {
    size_t capacity = 0;
    for (;;) {
        if (data->byte_count == capacity) {
            capacity = capacity == 0 ? 1 << 16 : 2 * capacity;
            char *bytes = realloc(data->bytes, capacity);
            if (bytes == NULL) return -1;
            data->bytes = bytes;
        }
        ssize_t count = read(file, data->bytes + data->byte_count, capacity - data->byte_count);
        if (count == 0) return 0;
        if (count < 0 && errno != EINTR) return -1;
        if (count > 0) data->byte_count += (size_t)count;
    }
}

int report_data_read(report_data *data, const char *name) {
    *data = (report_data){name, NULL, 0};
    bool is_stdin = strcmp(name, "-") == 0;
    int file = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    int status = file < 0 ? -1 : read_all(data, file);
    if (status != 0) {
        fprintf(stderr, "lido report: %s: %s; it reads what 'lido bench --save FILE' wrote\n", name, strerror(errno));
        report_data_free(data);
    }
    if (file >= 0 && !is_stdin) close(file);
    return status;
}

void report_data_free(report_data *data) {
    free(data->bytes);
    data->bytes = NULL;
}

// ---- The shape of the data -----------------------------------------------------------------------------------------

typedef enum {
    shape_string,
    shape_number,
    shape_bool,
    shape_object,
    shape_list,
    shape_tuple,
    shape_numbers
} shape_kind;

// One field. `inside` is the fields of an object, up to one without a name, or the one shape of a list's elements. A tuple
// is a list of `length` numbers; shape_numbers is an object with any keys, all of them numbers.
typedef struct shape {
    const char *name;
    shape_kind kind;
    bool needed;    // else it may be missing or null
    int length;
    const struct shape *inside;
} shape;

#define TEXT(name) \
    { name, shape_string, false, 0, NULL }
#define NUMBER(name) \
    { name, shape_number, false, 0, NULL }
#define BOOL(name) \
    { name, shape_bool, false, 0, NULL }
#define NAME(name) \
    { name, shape_string, true, 0, NULL }
#define OBJECT(name, fields) \
    { name, shape_object, false, 0, fields }
#define LIST(name, element) \
    { name, shape_list, false, 0, &(element) }
#define NEEDED_LIST(name, element) \
    { name, shape_list, true, 0, &(element) }
#define END \
    { NULL, shape_bool, false, 0, NULL }

static const shape a_text = {"", shape_string, true, 0, NULL}, a_number = {"", shape_number, true, 0, NULL},
                   pair = {"", shape_tuple, true, 2, NULL}, triple = {"", shape_tuple, true, 3, NULL};

static const shape spread[] = {NUMBER("median"), NUMBER("q1"), NUMBER("q3"), LIST("samples", a_number), END};
static const shape ratio[] = {NUMBER("median"), NUMBER("low"), NUMBER("high"), TEXT("verdict"), END};
static const shape latencies[] = {NUMBER("p50"), NUMBER("p99"),   NUMBER("p999"),          NUMBER("p9999"),
                                  NUMBER("max"), NUMBER("count"), LIST("histogram", pair), END};
static const shape latency[] = {NUMBER("timer_ns"), OBJECT("alloc", latencies), OBJECT("free", latencies), END};
static const shape counters[] = {NUMBER("instructions"), NUMBER("cycles"), NUMBER("cache_misses"),
                                 NUMBER("dtlb_misses"), END};

static const shape row_fields[] = {
    NAME("name"),
    TEXT("kind"),
    TEXT("failed"),
    TEXT("library"),
    OBJECT("ns_per_op", spread),
    NUMBER("ops_per_s"),
    OBJECT("ratio", ratio),
    NUMBER("cpu_share"),
    BOOL("disturbed"),
    NUMBER("rss_peak_kb"),
    NUMBER("rss_final_kb"),
    NUMBER("rss_start_kb"),
    NUMBER("lazyfree_kb"),
    NUMBER("rss_settled_kb"),
    NUMBER("settle_ms"),
    NUMBER("page_faults"),
    NUMBER("page_faults_timed"),
    NUMBER("major_faults"),
    NUMBER("voluntary_switches"),
    NUMBER("involuntary_switches"),
    NUMBER("user_s"),
    NUMBER("system_s"),
    NUMBER("cpu_use"),
    OBJECT("latency", latency),
    LIST("memory", triple),
    OBJECT("counters", counters),
    {"system_calls", shape_numbers, false, 0, NULL},
    {"counts", shape_numbers, false, 0, NULL},
    NUMBER("ratio_to_best_peer"),
    END,
};
static const shape row = {"", shape_object, true, 0, row_fields};

static const shape workload_fields[] = {
    NAME("name"),
    TEXT("op"),
    TEXT("help"),
    NUMBER("litter"),
    TEXT("best_peer"),
    {"parameters", shape_numbers, false, 0, NULL},
    NEEDED_LIST("allocators", row),
    END,
};
static const shape workload = {"", shape_object, true, 0, workload_fields};

static const shape run_fields[] = {
    NAME("name"),
    TEXT("failed"),
    TEXT("library"),
    OBJECT("wall_s", spread),
    OBJECT("ratio", ratio),
    NUMBER("user_s"),
    NUMBER("system_s"),
    NUMBER("rss_peak_kb"),
    NUMBER("page_faults"),
    NUMBER("major_faults"),
    NUMBER("voluntary_switches"),
    NUMBER("involuntary_switches"),
    NUMBER("exit_status"),
    TEXT("output"),
    LIST("memory", pair),
    END,
};
static const shape run = {"", shape_object, true, 0, run_fields};
static const shape program_fields[] = {NEEDED_LIST("command", a_text), NEEDED_LIST("allocators", run), END};
static const shape program = {"", shape_object, true, 0, program_fields};

static const shape machine[] = {TEXT("cpu"),
                                NUMBER("cpus"),
                                NUMBER("memory_gb"),
                                TEXT("kernel"),
                                TEXT("libc"),
                                TEXT("thp"),
                                TEXT("governor"),
                                TEXT("turbo"),
                                BOOL("virtual_machine"),
                                BOOL("core_is_shared"),
                                NUMBER("load_at_start"),
                                END};
static const shape build[] = {TEXT("compiler"), TEXT("flags"), END};
static const shape method[] = {NUMBER("rounds"),     NUMBER("seed"),      NUMBER("pinned_cpu"),
                               TEXT("clock"),        BOOL("quick"),       BOOL("interrupted"),
                               BOOL("quotable"),     NUMBER("litter"),    TEXT("baseline"),
                               NUMBER("confidence"), NUMBER("bootstrap"), NUMBER("baseline_repeats"),
                               NUMBER("precision"),  NUMBER("budget_s"),  END};
static const shape mean_fields[] = {NAME("allocator"), NUMBER("time"), NUMBER("rss_peak"), NUMBER("workloads"), END};
static const shape mean = {"", shape_object, true, 0, mean_fields};

static const shape file_fields[] = {
    NAME("schema"),
    TEXT("lido"),
    OBJECT("machine", machine),
    LIST("notes", a_text),
    OBJECT("build", build),
    OBJECT("method", method),
    NAME("kind"),
    LIST("workloads", workload),
    LIST("geometric_mean", mean),
    LIST("programs", program),
    END,
};
static const shape file_shape = {"", shape_object, true, 0, file_fields};

// ---- Checking ------------------------------------------------------------------------------------------------------

enum { PATH_BYTES = 160 };

static const char *kind_text(const shape *want) {
    switch (want->kind) {
        case shape_string: return "a text";
        case shape_number: return "a number";
        case shape_bool: return "true or false";
        case shape_object: return "an object";
        case shape_list: return "a list";
        case shape_tuple: return want->length == 2 ? "a list of 2 numbers" : "a list of 3 numbers";
        case shape_numbers: return "an object of numbers";
    }
    return "something else";
}

static bool has_kind(const json_t *value, const shape *want) {
    const char *key;
    json_t *element;
    switch (want->kind) {
        case shape_string: return json_is_string(value);
        case shape_number: return json_is_number(value);
        case shape_bool: return json_is_boolean(value);
        case shape_object: return json_is_object(value);
        case shape_list: return json_is_array(value);
        case shape_tuple:
            if (json_array_size(value) != (size_t)want->length) return false;
            for (int i = 0; i < want->length; i++)
                if (!json_is_number(json_array_get(value, (size_t)i))) return false;
            return true;
        case shape_numbers:
            if (!json_is_object(value)) return false;
            json_object_foreach((json_t *)value, key,
                                element) if (!json_is_number(element) && !json_is_null(element)) return false;
            return true;
    }
    return false;
}

// `path` says where in the file `value` is and is left so, or as the path of the first thing that is wrong.
static const shape *first_wrong(const json_t *value, const shape *want, char *path) {
    if (!want->needed && (value == NULL || json_is_null(value))) return NULL;
    if (!has_kind(value, want)) return want;
    size_t length = strlen(path);
    const shape *wrong = NULL;
    if (want->kind == shape_object) {
        for (const shape *field = want->inside; field->name != NULL && wrong == NULL; field++) {
            snprintf(path + length, PATH_BYTES - length, "%s%s", length > 0 ? "." : "", field->name);
            wrong = first_wrong(json_object_get(value, field->name), field, path);
        }
    } else if (want->kind == shape_list) {
        for (size_t i = 0; i < json_array_size(value) && wrong == NULL; i++) {
            snprintf(path + length, PATH_BYTES - length, "[%zu]", i);
            wrong = first_wrong(json_array_get(value, i), want->inside, path);
        }
    }
    if (wrong == NULL) path[length] = '\0';
    return wrong;
}

static int refuse_schema(const report_data *data, const char *found) {
    if (found == NULL)
        fprintf(stderr, "lido report: %s: not a file of lido bench (it has no \"schema\"); %s\n", data->name,
                measure_again);
    else if (strncmp(found, schema_name, strlen(schema_name)) != 0)
        fprintf(stderr, "lido report: %s: not a file of lido bench (its schema is another one); %s\n", data->name,
                measure_again);
    else if (strtol(found + strlen(schema_name), NULL, 10) > strtol(schema + strlen(schema_name), NULL, 10))
        fprintf(stderr, "lido report: %s: written by a newer lido than this one; use its own 'lido report'\n",
                data->name);
    else
        fprintf(stderr, "lido report: %s: written by an older lido, without what a report needs; %s\n", data->name,
                measure_again);
    return -1;
}

static int check_tree(const report_data *data, const json_t *tree) {
    const char *found = json_string_value(json_object_get(tree, "schema"));
    if (found == NULL || strcmp(found, schema) != 0) return refuse_schema(data, found);
    char path[PATH_BYTES] = "";
    const shape *wrong = first_wrong(tree, &file_shape, path);
    if (wrong != NULL) {
        fprintf(stderr, "lido report: %s: %s must be %s; %s\n", data->name, path, kind_text(wrong), measure_again);
        return -1;
    }
    const char *kind = json_string_value(json_object_get(tree, "kind"));
    if (strcmp(kind, "workloads") == 0 || strcmp(kind, "program") == 0) return 0;
    fprintf(stderr, "lido report: %s: kind must be \"workloads\" or \"program\"; %s\n", data->name, measure_again);
    return -1;
}

int report_data_check(const report_data *data) {
    if (data->byte_count == 0) {
        fprintf(stderr, "lido report: %s: the file is empty; %s\n", data->name, measure_again);
        return -1;
    }
    json_error_t error;
    // Checksums have 64 bits without a sign, which jansson's integers do not hold; as doubles they pass.
    json_t *tree = json_loadb(data->bytes, data->byte_count, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (tree == NULL) {
        for (char *at = error.text; *at != '\0'; at++)    // it quotes the file, which may hold anything
            if (iscntrl((unsigned char)*at)) *at = ' ';
        fprintf(stderr, "lido report: %s:%d:%d: not JSON: %s; the file is damaged or not from lido bench: %s\n",
                data->name, error.line, error.column, error.text, measure_again);
        return -1;
    }
    int status = check_tree(data, tree);
    json_decref(tree);
    return status;
}
