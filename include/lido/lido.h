// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Everything of lido for C. Each header below also stands alone.
#ifndef LIDO_H
#define LIDO_H

#include <lido/arena.h>
#include <lido/check.h>
#include <lido/defs.h>
#include <lido/fixed.h>
#include <lido/handle.h>
#include <lido/heap.h>
#include <lido/object.h>
#include <lido/options.h>
#include <lido/pool.h>

#endif
