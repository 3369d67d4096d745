// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Static probes for bpftrace, SystemTap and perf: provider `lido`, listed with their arguments in docs/debugging.md. Each is a
// no-operation instruction and a note in the library that says where the arguments are; nobody has to be asked for anything.
// They stand in slow halves only. Where <sys/sdt.h> was missing when this was compiled, there are none.
#ifndef LIDO_OS_PROBES_H
#define LIDO_OS_PROBES_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define LIDO__HAS_PROBES 1
#endif
#endif

#ifdef LIDO__HAS_PROBES
#define LIDO__PROBE2(name, a, b) DTRACE_PROBE2(lido, name, a, b)
#define LIDO__PROBE3(name, a, b, c) DTRACE_PROBE3(lido, name, a, b, c)
#define LIDO__PROBE4(name, a, b, c, d) DTRACE_PROBE4(lido, name, a, b, c, d)
#else
#define LIDO__PROBE2(name, a, b) ((void)(a), (void)(b))
#define LIDO__PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define LIDO__PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
