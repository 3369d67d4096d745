# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# The two functions that the folders' own CMakeLists.txt build on.

# lido_add_folder(NAME OPTION): the folder's CMakeLists.txt; when it has none, those of its sub-folders that have one.
# OPTION is the cache variable that switches the folder off.
function(lido_add_folder name option)
  if(NOT ${option})
    return()
  endif()
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true "${name}" "${name}/*")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/CMakeLists.txt")
    add_subdirectory(${name})
    return()
  endif()
  foreach(folder IN LISTS folders)
    if(EXISTS "${folder}/CMakeLists.txt")
      add_subdirectory("${folder}")
    endif()
  endforeach()
endfunction()

# lido_add_test(NAME SOURCES... [LABELS ...] [LINK ...] [ARGS ...] [TIMEOUT seconds] [ENVIRONMENT ...])
# Builds one test program against the static core (LINK replaces that: lido_malloc_static, lido_shared, ...), gives it
# include/ and src/ as include folders so that it may test internal functions, and registers it with CTest under NAME.
# A test that exits with 77 counts as skipped.
function(lido_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LABELS;LINK;ARGS;ENVIRONMENT")
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${arg_UNPARSED_ARGUMENTS})
  endif()
  if(NOT arg_LINK)
    set(arg_LINK lido_static)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  string(REPLACE "." "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE lido_flags ${arg_LINK})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${target} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
