// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the figures depend on and what cannot be seen in them: the machine, its kernel and libc, and what disturbs a
// measurement. What cannot be read says so ("unknown"), it is never left out.
#include "bench.h"

#include <ctype.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void first_line(const char *path, char *text, size_t bytes) {
    snprintf(text, bytes, "unknown");
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    if (fgets(text, (int)bytes, file) == NULL) snprintf(text, bytes, "unknown");
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

// "always [madvise] never" is "madvise".
static void bracketed(char *text) {
    char *open = strchr(text, '['), *close = strchr(text, ']');
    if (open == NULL || close == NULL || close < open) return;
    *close = '\0';
    memmove(text, open + 1, (size_t)(close - open));
}

static void read_cpu(bench_machine *machine) {
    char line[4096];
    snprintf(machine->model, sizeof machine->model, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (value == NULL) continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = '\0';
        if (strncmp(line, "model name", 10) == 0) snprintf(machine->model, sizeof machine->model, "%.120s", value);
        if (strncmp(line, "flags", 5) == 0 && strstr(value, " hypervisor") != NULL) machine->virtual_machine = true;
    }
    fclose(file);
}

// The last CPU that this process may use: the first ones get most interrupts.
static int choose_cpu(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
        if (CPU_ISSET((size_t)cpu, &set)) return cpu;
    return -1;
}

static void read_siblings(bench_machine *machine) {
    char text[64], path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             machine->pinned_cpu < 0 ? 0 : machine->pinned_cpu);
    first_line(path, text, sizeof text);
    machine->smt = strpbrk(text, ",-") != NULL;
}

static void read_turbo(bench_machine *machine) {
    first_line("/sys/devices/system/cpu/cpufreq/boost", machine->turbo, sizeof machine->turbo);
    if (strcmp(machine->turbo, "unknown") != 0) {
        snprintf(machine->turbo, sizeof machine->turbo, "%s", machine->turbo[0] == '1' ? "on" : "off");
        return;
    }
    first_line("/sys/devices/system/cpu/intel_pstate/no_turbo", machine->turbo, sizeof machine->turbo);
    if (strcmp(machine->turbo, "unknown") != 0)
        snprintf(machine->turbo, sizeof machine->turbo, "%s", machine->turbo[0] == '0' ? "on" : "off");
}

static void note(bench_machine *machine, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(bench_machine *machine, const char *format, ...) {
    if (machine->note_count == BENCH_NOTES_MAX) return;
    va_list values;
    va_start(values, format);
    vsnprintf(machine->notes[machine->note_count++], sizeof machine->notes[0], format, values);
    va_end(values);
}

static void note_disturbances(bench_machine *machine) {
    if (machine->load > 0.5) note(machine, "other programs are running (load %.1f); times will spread", machine->load);
    if (machine->virtual_machine)
        note(machine, "this is a virtual machine; its neighbours may move times from run to run");
    if (strcmp(machine->governor, "unknown") == 0)
        note(machine, "the CPU frequency governor cannot be read");
    else if (strcmp(machine->governor, "performance") != 0)
        note(machine, "the CPU frequency governor is '%s', not 'performance'", machine->governor);
    if (strcmp(machine->turbo, "unknown") == 0)
        note(machine, "whether turbo is on cannot be read");
    else if (strcmp(machine->turbo, "on") == 0)
        note(machine, "turbo is on; the clock rate depends on temperature and load");
    if (machine->smt) note(machine, "CPU %d shares its core with another one", machine->pinned_cpu);
    if (machine->pinned_cpu < 0) note(machine, "processes cannot be pinned to a CPU");
}

void bench_machine_read(bench_machine *machine) {
    struct utsname name;
    memset(machine, 0, sizeof *machine);
    read_cpu(machine);
    if (uname(&name) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%s %.80s %s", name.sysname, name.release, name.machine);
    snprintf(machine->libc, sizeof machine->libc, "glibc %s", gnu_get_libc_version());
    first_line("/sys/kernel/mm/transparent_hugepage/enabled", machine->thp, sizeof machine->thp);
    bracketed(machine->thp);
    first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", machine->governor, sizeof machine->governor);
    read_turbo(machine);
    machine->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    machine->memory_gb = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1e9;
    machine->pinned_cpu = choose_cpu();
    read_siblings(machine);
    if (getloadavg(&machine->load, 1) != 1) machine->load = -1;
    note_disturbances(machine);
}
