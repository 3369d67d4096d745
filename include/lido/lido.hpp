// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Everything of lido for C++17. Each header below also stands alone.
//
//   cxx/object_pool.hpp   lido::object_pool<T>, shared_object_pool<T>: objects out of a pool; variant_pool<Ts...>: of several types
//   cxx/object_cache.hpp  lido::object_cache<T>, shared_object_cache<T>: objects that stay constructed between uses
//   cxx/handle_pool.hpp   lido::handle_pool<T>, shared_handle_pool<T>: handle<T> instead of pointers, which can tell that the object is gone
//   cxx/fixed_pool.hpp    lido::fixed_pool<T, N>, buffer_pool<T>: within a capacity, no system, nothing to link
//   cxx/allocator.hpp     lido::allocator<T> for every standard container; node_allocator<T> for those of one thread
//   cxx/pooled.hpp        lido::pooled<T>: a base that gives a class its own operator new and delete
//   cxx/resource.hpp      std::pmr::memory_resource for the process heap, a heap, a pool, an arena
//
// Global operator new and delete: link liblido-malloc; no header is needed.
//
// Exceptions: a request that cannot be met throws lido::pool_exhausted or std::bad_alloc, options that make no sense
// std::invalid_argument. Under -fno-exceptions the same calls write one line on stderr and abort; the try_ calls and the
// constructors that take std::nothrow report failure in either mode. -fno-rtti makes no difference. All object files of a
// program that use one pool must agree on exceptions, as for the standard library's templates.
//
// Types: whatever is a complete object type that can be destroyed without throwing, of any alignment up to 2 MiB and any size up to
// 16 MiB, also smaller than a pointer. What cannot be pooled is refused by a static_assert that begins with "lido:" and
// says what to do instead.
//
// Comments state what the signature cannot: Requires, Threads, Fails, Cost. LOCAL pools: one thread at a time.
#ifndef LIDO_HPP
#define LIDO_HPP

#include <lido/cxx/allocator.hpp>
#include <lido/cxx/base.hpp>
#include <lido/cxx/fixed_pool.hpp>
#include <lido/cxx/handle_pool.hpp>
#include <lido/cxx/object_cache.hpp>
#include <lido/cxx/object_pool.hpp>
#include <lido/cxx/pooled.hpp>
#include <lido/cxx/resource.hpp>

#endif
