# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# The four libraries. Every C file of src/<layer>/ belongs to the core, except src/malloc/, which is the drop-in family.
file(GLOB lido_core_sources CONFIGURE_DEPENDS "src/*/*.c")
file(GLOB lido_malloc_sources CONFIGURE_DEPENDS "src/malloc/*.c")
list(FILTER lido_core_sources EXCLUDE REGEX "/src/malloc/[^/]*$")
file(GLOB_RECURSE lido_public_headers CONFIGURE_DEPENDS "include/lido/*.h" "include/lido/*.hpp")
foreach(kind core malloc)
  if(NOT lido_${kind}_sources)
    message(STATUS "src/: no ${kind} sources yet")
    file(WRITE "${CMAKE_BINARY_DIR}/no-${kind}.c" "typedef int lido__no_${kind};\n")
    set(lido_${kind}_sources "${CMAKE_BINARY_DIR}/no-${kind}.c")
  endif()
endforeach()

# The compiler must not read malloc + memset as calloc, nor drop a pair it believes it knows, where these are ours.
set(lido_own_malloc
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free -fno-builtin-aligned_alloc
  -fno-builtin-memalign -fno-builtin-posix_memalign -fno-builtin-strdup -fno-builtin-strndup)

function(lido_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include" PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE lido_library_flags)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

lido_objects(lido_core ${lido_core_sources})
lido_objects(lido_malloc_objects ${lido_malloc_sources})
set(lido_heap_sources ${lido_core_sources})
list(FILTER lido_heap_sources INCLUDE REGEX "/src/heap/[^/]*$")
set_source_files_properties(${lido_heap_sources} PROPERTIES COMPILE_OPTIONS "${lido_own_malloc}")
# operator new throws through these C frames.
target_compile_options(lido_malloc_objects PRIVATE ${lido_own_malloc} -fexceptions)

# lido_library(TARGET TYPE NAME EXPORT SOURCES...): output lib<NAME>, exported to other projects as lido::<EXPORT>.
function(lido_library target type output_name export_name)
  add_library(${target} ${type} ${ARGN})
  add_library(lido::${export_name} ALIAS ${target})
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:lido_instrument> Threads::Threads)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output_name} EXPORT_NAME ${export_name} LINKER_LANGUAGE C)
  if(type STREQUAL SHARED)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    # nodelete: thread-exit hooks of live threads point into the library. now: no lazy binding inside malloc.
    target_link_options(${target} PRIVATE LINKER:-z,nodelete LINKER:-z,now LINKER:-z,relro)
    if(NOT LIDO_SANITIZE)
      target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
  endif()
endfunction()

lido_library(lido_shared SHARED lido lido $<TARGET_OBJECTS:lido_core>)
lido_library(lido_static STATIC lido lido_static $<TARGET_OBJECTS:lido_core>)
lido_library(lido_malloc_shared SHARED lido-malloc malloc
  $<TARGET_OBJECTS:lido_core> $<TARGET_OBJECTS:lido_malloc_objects>)

# One object in the archive: a program that calls only free() must not end with lido's free over libc's malloc.
set(lido_malloc_object "${CMAKE_BINARY_DIR}/lido-malloc.o")
add_custom_command(OUTPUT "${lido_malloc_object}"
  COMMAND ${CMAKE_C_COMPILER} -nostdlib -r -o "${lido_malloc_object}"
          $<TARGET_OBJECTS:lido_core> $<TARGET_OBJECTS:lido_malloc_objects>
  DEPENDS $<TARGET_OBJECTS:lido_core> $<TARGET_OBJECTS:lido_malloc_objects>
  COMMENT "Linking lido-malloc.o" COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties("${lido_malloc_object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
lido_library(lido_malloc_static STATIC lido-malloc malloc_static "${lido_malloc_object}")
