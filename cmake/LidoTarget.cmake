# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# The functions that the folders' own CMakeLists.txt build on.
#
# Not every test needs every build. The suite asan-ubsan runs all that a sanitizer lets run, with assertions on; the other
# two of script/test with assertions run what that leaves open, and build only that, as the targets suite-LABEL:
#   unsanitized   suite debug: what does less under a sanitizer, or nothing
#   threads       suite tsan: what has threads of its own. Where there is one thread there is no race.
foreach(label unsanitized threads)
  add_custom_target(suite-${label})
endforeach()

# lido_suites(TARGET LABELS...): the suites of these labels need TARGET. Other labels may be among them.
function(lido_suites target)
  foreach(label IN LISTS ARGN)
    if(TARGET suite-${label})
      add_dependencies(suite-${label} ${target})
    endif()
  endforeach()
endfunction()

# lido_source_labels(RESULT FILE): which of the two labels a test of this source has.
function(lido_source_labels result file)
  set(labels "")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines REGEX "UNIT_SANITIZED|unit_threads *\\(|pthread_create|thrd_create|std::thread|std::async")
  if(lines MATCHES "UNIT_SANITIZED")
    list(APPEND labels unsanitized)
  endif()
  if(lines MATCHES "unit_threads|pthread_create|thrd_create|std::thread|std::async")
    list(APPEND labels threads)
  endif()
  set(${result} "${labels}" PARENT_SCOPE)
endfunction()

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
# A test that exits with 77 counts as skipped. The first source says whether it has threads and heeds sanitizers.
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
  list(GET arg_SOURCES 0 first)
  get_filename_component(first "${first}" ABSOLUTE)
  lido_source_labels(labels "${first}")
  list(APPEND arg_LABELS ${labels})
  string(REPLACE "." "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE lido_flags ${arg_LINK})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  lido_suites(${target} ${arg_LABELS})
  add_test(NAME ${name} COMMAND ${target} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
