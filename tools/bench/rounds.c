// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Each round runs every row once and the baselines several times, since each ratio of a group depends on them, all in an order
// drawn anew, so that a slow minute of the machine hits all alike. After the rounds that were asked for, groups whose intervals
// are all narrow rest. The others go on while the budget lasts, whole, so that a drift of the machine does not set a row apart
// from its baseline; of them the rows that are too wide, and their baseline, get more samples a round than the rest. A row that
// failed once is not run again.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUICK_PASSES = 3 };

// The budget when none is given, of a row: 24 minutes for all workloads on 554 rows without looks and the wait for memory to
// fall, which take as long as said here on average.
static const double BUDGET_LEAST_S = 120, BUDGET_ROW_S = 2.6, BUDGET_LOOK_S = 0.5, BUDGET_SETTLE_SHARE = 0.5;

// What a round runs, in this order; a row stands there as often as it runs.
typedef struct run_list {
    bench_row **rows;
    int count, room;
} run_list;

// How often a row runs in the next round.
static int repeats_of(const bench_row *row, const bench_options *options) {
    const bench_group *group = row->group;
    if (group->settled) return 0;
    int more = row->wide || group->wide ? BENCH_REPEATS_WIDE : 1;
    bool base = strcmp(row->allocator->name, options->baseline) == 0;
    if (base) return group->row_count > 1 ? BENCH_REPEATS_BASE * more : 1;
    return row->wide ? more : 1;
}

static void list_add(run_list *list, bench_row *row) {
    if (list->count == list->room) {
        list->room = list->room == 0 ? 1024 : list->room * 2;
        list->rows = realloc(list->rows, (size_t)list->room * sizeof *list->rows);
        if (list->rows == NULL) abort();
    }
    list->rows[list->count++] = row;
}

static void list_make(run_list *list, bench_plan *plan, const bench_options *options, uint64_t *state) {
    list->count = 0;
    for (int i = 0; i < plan->row_count; i++)
        for (int n = repeats_of(&plan->rows[i], options); n > 0; n--) list_add(list, &plan->rows[i]);
    for (int i = list->count - 1; i > 0; i--) {
        int other = (int)(bench_draw(state) % (uint64_t)(i + 1));
        bench_row *kept = list->rows[i];
        list->rows[i] = list->rows[other];
        list->rows[other] = kept;
    }
}

static void add_word(bench_words *words, const char *name, long long value) {
    snprintf(words->text[words->count], sizeof words->text[0], "%s=%lld", name, value);
    words->argv[words->count] = words->text[words->count];
    words->count++;
}

void bench_words_make(bench_words *words, const bench_row *row, int passes, bool look, int settle_ms) {
    const bench_group *group = row->group;
    memset(words, 0, sizeof *words);
    words->argv[0] = row->allocator->worker;
    words->argv[1] = group->workload->name;
    words->argv[2] = row->allocator->backend;
    words->count = 3;
    if (passes > 0) add_word(words, "passes", passes);
    if (look) add_word(words, "look", 1);
    if (settle_ms > 0) add_word(words, "settle", settle_ms);
    if (group->litter != BENCH_CLEAN) add_word(words, "litter", group->litter);
    for (int i = 0; i < group->workload->param_count; i++)
        add_word(words, group->workload->params[i].name, (long long)group->values[i]);
}

static void run_worker(bench_row *row, int round, const bench_machine *machine, const bench_options *options) {
    bench_words words;
    bool threads = (row->group->workload->shape & BENCH_SHAPE_THREADS) != 0;
    bool look = options->level > 0 && round <= options->looks && row->round != round;    // one of a round's samples
    bench_words_make(&words, row, options->quick ? QUICK_PASSES : 0, look, row->round == 0 ? options->settle_ms : 0);
    bench_command command = {.argv = words.argv,
                             .preload = row->allocator->preload,
                             .cpu = threads ? -1 : machine->pinned_cpu,
                             .timeout_s = options->timeout_s,
                             .output_fd = -1};
    static bench_outcome outcome;
    bench_spawn(&command, &outcome);
    if (bench_interrupted()) return;    // what the child says then is about the interrupt
    bench_answer_take(row, round, options, &outcome);
}

typedef struct run_progress {
    bool shown;
    int done, wanted;    // processes, of the rounds that were asked for
    double started;
} run_progress;

static void show(const run_progress *progress, const bench_row *row, int round) {
    if (!progress->shown) return;
    double spent = bench_seconds() - progress->started;
    int left = progress->done > 0 ? (int)(spent / progress->done * (progress->wanted - progress->done) + 0.5) : 0;
    const char *what = row->group->workload != NULL ? row->group->workload->name : "the program";
    fprintf(stderr, "\r\033[K[%d/%d] round %d: %s on %s", progress->done + 1, progress->wanted, round, what,
            row->allocator->name);
    if (progress->done > 0 && left > 0) fprintf(stderr, ", %d:%02d left", left / 60, left % 60);
    fflush(stderr);
}

static void run_round(const run_list *list, int round, run_progress *progress, const bench_machine *machine,
                      const bench_options *options) {
    for (int i = 0; i < list->count && !bench_interrupted(); i++) {
        bench_row *row = list->rows[i];
        show(progress, row, round);
        if (row->fault[0] == '\0' && row->sample_count < BENCH_SAMPLES_MAX) {
            if (row->group->workload != NULL)
                run_worker(row, round, machine, options);
            else
                bench_program_run(row, round, options);
        }
        row->round = round;
        progress->done++;
    }
}

// Whether the row needs more samples: its interval is wider than asked, and it can have one.
static bool row_wide(const bench_row *row, const bench_options *options) {
    const bench_ratio *ratio = &row->ratio;
    if (!bench_row_ok(row) || ratio->verdict == BENCH_IS_BASELINE || isnan(ratio->value)) return false;
    return !((ratio->high - ratio->low) / 2 <= options->precision * ratio->value);    // true while there is no interval
}

// Returns true if every group is settled. One that is stays so, since its rows run no more.
static bool settle_groups(bench_plan *plan, const bench_options *options) {
    bool all = true;
    for (int g = 0; g < plan->group_count; g++) {
        bench_group *group = &plan->groups[g];
        if (group->settled) continue;
        bench_ratios_make(group, options->baseline);
        group->wide = false;
        for (int i = 0; i < group->row_count; i++) {
            group->rows[i].wide = row_wide(&group->rows[i], options);
            group->wide = group->wide || group->rows[i].wide;
        }
        group->settled = !group->wide;
        all = all && group->settled;
    }
    return all;
}

double bench_budget(const bench_plan *plan, const bench_options *options) {
    if (!isnan(options->budget_s)) return options->budget_s;
    double row_s = BUDGET_ROW_S;
    if (options->command == NULL)
        row_s += BUDGET_LOOK_S * options->looks + BUDGET_SETTLE_SHARE * options->settle_ms / 1000;
    return fmax(BUDGET_LEAST_S, row_s * plan->row_count);
}

void bench_rounds_run(bench_plan *plan, const bench_machine *machine, const bench_options *options) {
    run_list list = {NULL, 0, 0};
    uint64_t state = plan->seed;
    run_progress progress = {isatty(2) != 0, 0, 0, bench_seconds()};
    double each_s = 0;    // one process of the last round
    while (plan->rounds_done < BENCH_ROUNDS_MAX && !bench_interrupted()) {
        bool asked = plan->rounds_done < options->rounds;
        if (!asked && settle_groups(plan, options)) break;
        list_make(&list, plan, options, &state);
        double now = bench_seconds();
        if (!asked && now + each_s * list.count - progress.started > bench_budget(plan, options)) break;
        progress.wanted = progress.done + list.count * (asked ? options->rounds - plan->rounds_done : 1);
        run_round(&list, plan->rounds_done + 1, &progress, machine, options);
        each_s = list.count > 0 ? (bench_seconds() - now) / list.count : 0;
        if (!bench_interrupted()) plan->rounds_done++;
    }
    plan->interrupted = bench_interrupted();
    if (progress.shown) fprintf(stderr, "\r\033[K");
    free(list.rows);
}

// What most rows of the group say; of equals the first.
static uint64_t common_checksum(const bench_row *rows, int count) {
    uint64_t best = 0;
    int best_votes = 0;
    for (int i = 0; i < count; i++) {
        int votes = 0;
        for (int j = 0; j < count; j++)
            votes += bench_row_ok(&rows[i]) && bench_row_ok(&rows[j]) && rows[i].checksum == rows[j].checksum;
        if (votes > best_votes) {
            best_votes = votes;
            best = rows[i].checksum;
        }
    }
    return best;
}

void bench_checksums_compare(bench_plan *plan) {
    for (int g = 0; g < plan->group_count; g++) {
        bench_group *group = &plan->groups[g];
        if (group->workload == NULL) continue;    // a program's output is a remark, not a fault
        uint64_t right = common_checksum(group->rows, group->row_count);
        for (int i = 0; i < group->row_count; i++) {
            bench_row *row = &group->rows[i];
            if (!bench_row_ok(row) || row->checksum == right) continue;
            snprintf(row->fault, sizeof row->fault, "wrong contents: checksum %llu, most others have %llu",
                     (unsigned long long)row->checksum, (unsigned long long)right);
        }
    }
}
