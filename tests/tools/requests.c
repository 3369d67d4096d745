// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The numbers of src/os/memcheck.h against the headers of Valgrind. Only compiled, where these are installed.
#include "os/memcheck.h"

#include <valgrind/memcheck.h>

_Static_assert((int)LIDO__MEMCHECK_POOL_NEW == (int)VG_USERREQ__CREATE_MEMPOOL, "a pool");
_Static_assert((int)LIDO__MEMCHECK_POOL_ALLOC == (int)VG_USERREQ__MEMPOOL_ALLOC, "a block of it");
_Static_assert((int)LIDO__MEMCHECK_POOL_FREE == (int)VG_USERREQ__MEMPOOL_FREE, "its end");
_Static_assert((int)LIDO__MEMCHECK_NO_ACCESS == (int)VG_USERREQ__MAKE_MEM_NOACCESS, "no access");
_Static_assert((int)LIDO__MEMCHECK_UNDEFINED == (int)VG_USERREQ__MAKE_MEM_UNDEFINED, "undefined");
_Static_assert((int)LIDO__MEMCHECK_DEFINED == (int)VG_USERREQ__MAKE_MEM_DEFINED, "defined");
