// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido::shared_object_pool: one thread makes tasks, others destroy them.
//
// Prints:
//     sum 4498500, 0 live
#include <lido/lido.hpp>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Task {
    int number;
    char work[60];
    explicit Task(int n) : number(n), work() {}
};

int main() {
    lido::shared_object_pool<Task> tasks;
    constexpr int count = 3000;
    std::vector<std::atomic<Task *>> queue(count);
    std::atomic<long> sum{0};
    std::atomic<int> next{0};
    auto worker = [&] {
        for (int i; (i = next++) < count;) {
            Task *task;
            while ((task = queue[static_cast<std::size_t>(i)].load(std::memory_order_acquire)) == nullptr)
                std::this_thread::yield();
            sum += task->number;
            tasks.destroy(task);    // made by another thread
        }
    };
    std::thread one(worker), two(worker);
    for (int i = 0; i < count; i++) queue[static_cast<std::size_t>(i)].store(tasks.make(i), std::memory_order_release);
    one.join();
    two.join();
    std::printf("sum %ld, %zu live\n", sum.load(), tasks.live());
    return sum == static_cast<long>(count) * (count - 1) / 2 && tasks.live() == 0 ? 0 : 1;
}
