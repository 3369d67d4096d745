// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See test_trace_frames.h: frames with destructors, in a handler, and while an exception passes.
#include "test_trace_frames.h"

#include <string>

namespace {

struct visits_at_end {
    frames_visit visit;
    ~visits_at_end() { visit(); }
};

[[gnu::noinline]] void cleanup(frames_visit visit) {
    std::string text(100, 'x');
    visit();
    asm volatile("" ::"r"(text.data()) : "memory");
}

[[gnu::noinline]] void thrower(frames_visit visit) {
    visits_at_end guard{visit};
    throw 5;
}

[[gnu::noinline]] void in_handler(frames_visit visit) {
    try {
        throw 5;
    } catch (int) {
        visit();
    }
}

[[gnu::noinline]] void while_unwinding(frames_visit visit) {
    try {
        thrower(visit);
    } catch (int) {
    }
}

}    // namespace

extern "C" const frames_kind cxx_frames[FRAMES_CXX_KINDS] = {
    {"destructor", cleanup}, {"in a handler", in_handler}, {"while an exception passes", while_unwinding}};
