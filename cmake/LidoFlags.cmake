# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# Compiler settings that hold for the whole tree, on the interface target lido_flags (and lido_library_flags for the code
# that ends in the libraries). Release keeps -g: profiles and callgrind need the symbols and they cost no instruction.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
# C++ is in no library, only in tests, benchmarks and examples. Call stacks and lines suffice there, and the debug information
# of templates is a third of the time of the largest files.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-Og -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1")

find_package(Threads REQUIRED)

# What a sanitizer or coverage build adds, to every compilation and every link.
add_library(lido_instrument INTERFACE)
if(LIDO_SANITIZE)
  target_compile_options(lido_instrument INTERFACE
    -fsanitize=${LIDO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  target_link_options(lido_instrument INTERFACE -fsanitize=${LIDO_SANITIZE})
endif()
if(LIDO_COVERAGE)
  target_compile_options(lido_instrument INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(lido_instrument INTERFACE --coverage)
endif()

add_library(lido_flags INTERFACE)
target_compile_definitions(lido_flags INTERFACE _GNU_SOURCE)
target_compile_options(lido_flags INTERFACE
  -Wall -Wextra -Wundef -Wshadow
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  # C++14 has operator delete with a size; Clang 14 wants to be asked for it.
  $<$<COMPILE_LANGUAGE:CXX>:-fsized-deallocation>
  $<$<BOOL:${LIDO_WERROR}>:-Werror>
  # No build path in asserts, debug sections or coverage notes: two builds of one commit are alike wherever they stand.
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
target_link_libraries(lido_flags INTERFACE lido_instrument Threads::Threads)

add_library(lido_library_flags INTERFACE)
target_compile_options(lido_library_flags INTERFACE
  -fvisibility=hidden
  # The libraries are loaded at start-up (linked or preloaded), so thread-local variables get their fixed offset.
  -ftls-model=initial-exec
  -fno-semantic-interposition)
target_link_libraries(lido_library_flags INTERFACE lido_flags)
