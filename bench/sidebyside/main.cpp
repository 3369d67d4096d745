// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido-side-by-side [--rounds N] [--divide N] [--rows TEXT]: runs the rows whose name contains TEXT, each pass shortened
// by N, and prints one line a contender, fields divided by tabs:
//
//      row  contender  lido|peer|yardstick  one|any  operations  checksum  ns/op of each round...
//
// Times are CPU time of the thread: what else runs on the machine disturbs them less. script/side-by-side runs it under
// each malloc and makes tables of it.
#include "sidebyside.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

namespace {

struct settings {
    unsigned rounds = 21;
    std::uint64_t divide = 1;
    std::string rows;
};

double cpu_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Returns false if two contenders read different contents.
bool run_row(const side::row &row, const settings &set, std::mt19937 &random) {
    std::uint64_t count = std::max<std::uint64_t>(row.count / set.divide, 1);
    std::size_t n = row.contenders.size();
    std::vector<std::unique_ptr<side::contest>> contests(n);
    std::vector<std::vector<double>> times(n);
    std::vector<std::size_t> order(n);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < n; i++) order[i] = i;
    for (const side::contender &one : row.contenders) contests[&one - row.contenders.data()] = one.open();
    for (unsigned round = 0; round < set.rounds; round++) {
        std::shuffle(order.begin(), order.end(), random);
        for (std::size_t i : order) {
            contests[i]->pass(count / 10 + 1);
            double start = cpu_ns();
            std::uint64_t sum = contests[i]->pass(count);
            times[i].push_back((cpu_ns() - start) / static_cast<double>(count));
            if (expected == 0) expected = sum;
            if (sum == expected) continue;
            std::fprintf(stderr, "lido-side-by-side: %s: %s read other contents than the first contender\n",
                         row.name.c_str(), row.contenders[i].name.c_str());
            return false;
        }
    }
    static const char *const whose[] = {"lido", "peer", "yardstick"};
    for (std::size_t i = 0; i < n; i++) {
        const side::contender &one = row.contenders[i];
        std::printf("%s\t%s\t%s\t%s\t%llu\t%llu", row.name.c_str(), one.name.c_str(),
                    whose[static_cast<int>(one.whose)], one.safe_for == side::threads::one ? "one" : "any",
                    static_cast<unsigned long long>(count), static_cast<unsigned long long>(expected));
        for (double time : times[i]) std::printf("\t%.4f", time);
        std::printf("\n");
    }
    std::fflush(stdout);
    return true;
}

[[noreturn]] void fail_usage(const char *argument) {
    std::fprintf(stderr,
                 "lido-side-by-side: '%s' is not understood: there are --rounds N, --divide N and --rows TEXT\n",
                 argument);
    std::exit(2);
}

std::uint64_t number(const char *text) {
    char *end;
    unsigned long long value = std::strtoull(text, &end, 10);
    if (end == text || *end != '\0' || value == 0 || value > 1000000) fail_usage(text);
    return value;
}

settings read_arguments(int argc, char **argv) {
    settings set;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) fail_usage(argv[i]);
        if (std::strcmp(argv[i], "--rounds") == 0) {
            set.rounds = static_cast<unsigned>(number(argv[i + 1]));
        } else if (std::strcmp(argv[i], "--divide") == 0) {
            set.divide = number(argv[i + 1]);
        } else if (std::strcmp(argv[i], "--rows") == 0) {
            set.rows = argv[i + 1];
        } else {
            fail_usage(argv[i]);
        }
    }
    return set;
}

}    // namespace

int main(int argc, char **argv) {
    settings set = read_arguments(argc, argv);
    std::vector<side::row> rows;
    side::add_objects(rows);
    side::add_containers(rows);
    side::add_arenas(rows);
    std::mt19937 random(std::random_device{}());
    unsigned ran = 0;
    for (const side::row &row : rows) {
        if (row.name.find(set.rows) == std::string::npos) continue;
        ran++;
        std::printf("# %s\t%s\n", row.name.c_str(), row.help.c_str());
        if (!run_row(row, set, random)) return 1;
    }
    if (ran == 0) {
        std::fprintf(stderr, "lido-side-by-side: no row has '%s' in its name\n", set.rows.c_str());
        return 2;
    }
    return 0;
}
