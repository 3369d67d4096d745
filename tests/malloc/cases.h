// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// All malloc cases: CASE(name, time limit in seconds). Also read by CMakeLists.txt and by `run`, line by line.

// cases_contract.c: what a single call promises
CASE(too_large, 20)
CASE(overflowing_products, 20)
CASE(zero_sizes, 20)
CASE(bad_alignments, 20)
CASE(alignment_of_sizes, 20)
CASE(alignment_of_requests, 30)
CASE(usable_size, 30)
CASE(errno_untouched, 20)
CASE(extended_frees, 20)

// cases_content.c: what is in the blocks
CASE(realloc_steps, 60)
CASE(realloc_random, 60)
CASE(realloc_aligned, 30)
CASE(calloc_after_dirt, 60)
CASE(calloc_all_sizes, 60)
CASE(no_overlap, 60)

// cases_info.c: the calls that report
CASE(mallinfo_follows, 20)
CASE(malloc_stats_prints, 20)
CASE(malloc_info_prints, 20)
CASE(mallopt_answers, 20)

// cases_memory.c: memory goes back
CASE(trim_returns, 60)
CASE(trim_after_threads, 60)
CASE(trim_idle_threads, 60)
CASE(threads_in_sequence, 60)
CASE(idle_threads_are_cheap, 60)
CASE(producer_consumer, 60)
CASE(few_mappings, 60)
CASE(hello_world, 30)

// cases_limits.c: the system refuses
CASE(limit_address_space, 60)
CASE(limit_data, 60)
CASE(limit_threads, 60)
CASE(limit_realloc, 60)

// cases_threads.c: threads, their ends, and other threads' blocks
CASE(first_call_is_foreign, 20)
CASE(key_destructors, 60)
CASE(key_destructors_leave_nothing, 60)
CASE(threads_pass_blocks, 60)
CASE(small_stacks, 30)
CASE(cancelled_threads, 60)
CASE(exit_while_threads_run, 60)

// cases_process.c: fork, exec, signals, loading
CASE(fork_while_allocating, 60)
CASE(fork_from_threads, 60)
CASE(fork_chain, 30)
CASE(spawn_while_allocating, 60)
CASE(signal_storm, 60)
CASE(dlopen_dlclose, 60)
CASE(early_library, 30)
CASE(preinit, 20)
CASE(after_main, 20)

// cases_cxx.cpp: operator new and delete
CASE(new_every_form, 20)
CASE(new_replaces_all, 20)
CASE(new_handler_called, 20)
CASE(new_throws, 20)
CASE(thread_local_destructors, 60)
CASE(cxx_containers, 60)
