// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The table of resized blocks against an array, with addresses that collide and with forgetting in any order.
#include "../unit/unit.h"

#include "worker/look.h"

enum { BLOCKS = 40000, STEPS = 2000000 };

static int64_t model[BLOCKS];    // 0: not in the table

static const void *address(uint64_t index) { return (const void *)(uintptr_t)(0x10000 + index * 16); }

static void table_is_the_model(void **state) {
    (void)state;
    uint64_t dice = 4;
    for (int i = 0; i < STEPS; i++) {
        uint64_t index = unit_random(&dice) % BLOCKS;
        if (unit_random(&dice) % 2 == 0) {
            model[index] = (int64_t)(unit_random(&dice) % 1000 + 1);
            look_remember(address(index), model[index]);
        } else {
            int64_t is = look_forget(address(index), -7);
            assert_int_equal(is, model[index] != 0 ? model[index] : -7);
            model[index] = 0;
        }
    }
    for (uint64_t index = 0; index < BLOCKS; index++)
        assert_int_equal(look_forget(address(index), -7), model[index] != 0 ? model[index] : -7);
    for (uint64_t index = 0; index < BLOCKS; index++) assert_int_equal(look_forget(address(index), -8), -8);
}

static void no_block_is_not_in_the_table(void **state) {
    (void)state;
    assert_int_equal(look_forget(NULL, 5), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_the_model),
        cmocka_unit_test(no_block_is_not_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
