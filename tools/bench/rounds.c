// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Each round runs every row once, in an order drawn anew, so that a slow minute of the machine hits all alike. After the
// rounds that were asked for, groups whose intervals are narrow rest and the others go on while the budget lasts. A row that
// failed once is not run again.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUICK_PASSES = 3 };

static void shuffle(int *order, int count, uint64_t *state) {
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(bench_draw(state) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
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
    bench_words_make(&words, row, options->quick ? QUICK_PASSES : 0, options->level > 0 && round <= options->looks,
                     round == 1 ? options->settle_ms : 0);
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

static void run_round(bench_plan *plan, int *order, int round, run_progress *progress, const bench_machine *machine,
                      const bench_options *options) {
    for (int i = 0; i < plan->row_count && !bench_interrupted(); i++) {
        bench_row *row = &plan->rows[order[i]];
        if (row->group->settled) continue;
        show(progress, row, round);
        if (row->fault[0] == '\0' && row->sample_count < BENCH_ROUNDS_MAX) {
            if (row->group->workload != NULL)
                run_worker(row, round, machine, options);
            else
                bench_program_run(row, round, options);
        }
        progress->done++;
    }
}

// Whether no further round is needed for this row: its interval is as narrow as asked, or it can have none.
static bool row_settled(const bench_row *row, const bench_options *options) {
    const bench_ratio *ratio = &row->ratio;
    if (!bench_row_ok(row) || ratio->verdict == BENCH_IS_BASELINE || isnan(ratio->value)) return true;
    return (ratio->high - ratio->low) / 2 <= options->precision * ratio->value;    // false while there is no interval
}

static bool settle_groups(bench_plan *plan, const bench_options *options) {
    bool all = true;
    for (int g = 0; g < plan->group_count; g++) {
        bench_group *group = &plan->groups[g];
        bench_ratios_make(group, options->baseline);
        group->settled = true;
        for (int i = 0; i < group->row_count; i++)
            group->settled = group->settled && row_settled(&group->rows[i], options);
        all = all && group->settled;
    }
    return all;
}

void bench_rounds_run(bench_plan *plan, const bench_machine *machine, const bench_options *options) {
    int *order = calloc((size_t)plan->row_count, sizeof *order);
    if (order == NULL) abort();
    uint64_t state = plan->seed;
    run_progress progress = {isatty(2) != 0, 0, plan->row_count * options->rounds, bench_seconds()};
    double last_round = 0;
    while (plan->rounds_done < BENCH_ROUNDS_MAX && !bench_interrupted()) {
        double now = bench_seconds();
        if (plan->rounds_done >= options->rounds) {
            if (now + last_round - progress.started > options->budget_s || settle_groups(plan, options)) break;
        }
        shuffle(order, plan->row_count, &state);
        run_round(plan, order, plan->rounds_done + 1, &progress, machine, options);
        last_round = bench_seconds() - now;
        if (!bench_interrupted()) plan->rounds_done++;
    }
    plan->interrupted = bench_interrupted();
    if (progress.shown) fprintf(stderr, "\r\033[K");
    free(order);
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
