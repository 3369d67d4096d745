// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Functions with frames of every kind, each of which calls `visit` from its innermost place. test_trace_frames.c is
// compiled twice: kept_* keep frame pointers, bare_* do not.
#ifndef LIDO_TESTS_TRACE_FRAMES_H
#define LIDO_TESTS_TRACE_FRAMES_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*frames_visit)(void);
typedef struct frames_kind {
    const char *name;
    void (*call)(frames_visit visit);
} frames_kind;

enum { FRAMES_KINDS = 7, FRAMES_CXX_KINDS = 3 };
extern const frames_kind kept_frames[FRAMES_KINDS], bare_frames[FRAMES_KINDS], cxx_frames[FRAMES_CXX_KINDS];

#ifdef __cplusplus
}
#endif
#endif
