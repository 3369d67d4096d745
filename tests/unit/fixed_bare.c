// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido/fixed.h in a program that has no C library at all: built with -ffreestanding -nostdlib -static, so a reference to
// any library function fails the link. It starts itself, uses a pool, and ends with status 0 if all went as it should.
#include <lido/fixed.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "tests/unit/fixed_bare.c knows how to end a process on x86-64 and AArch64 only"
#endif

static _Noreturn void leave(long status) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = 94;
    register long argument __asm__("x0") = status;
    __asm__ volatile("svc 0" : : "r"(number), "r"(argument) : "memory");
#endif
    for (;;) {
    }
}

struct task {
    struct task *next;
    int number;
    char note[40];
};
LIDO_FIXED_BUFFER(storage, 1000, sizeof(struct task), 0);

// 0 if all is well, else the number of the step that was not.
static long use_pool(void) {
    lido_fixed tasks;
    if (!lido_fixed_init(&tasks, storage, sizeof storage, sizeof(struct task), 0)) return 1;
    if (lido_fixed_capacity(&tasks) != 1000) return 2;
    struct task *head = NULL;
    for (int i = 0; i < 1000; i++) {
        struct task *task = (struct task *)lido_fixed_alloc(&tasks);
        if (task == NULL || !lido_fixed_owns(&tasks, task)) return 3;
        task->number = i;
        task->next = head;
        head = task;
    }
    if (lido_fixed_alloc(&tasks) != NULL) return 4;
    long sum = 0;
    while (head != NULL) {
        struct task *next = head->next;
        sum += head->number;
        lido_fixed_free(&tasks, head);
        head = next;
    }
    if (sum != 499500) return 5;
    if (lido_fixed_live(&tasks) != 0 || lido_fixed_high_water(&tasks) != 1000) return 6;
    lido_fixed_reset(&tasks);
    return lido_fixed_high_water(&tasks) == 0 ? 0 : 7;
}

void _start(void);
__attribute__((force_align_arg_pointer)) void _start(void) { leave(use_pool()); }
