# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# The imported target Jansson::jansson, the JSON of bin/lido. Its archive where there is one, so that a copied bin/lido
# asks for nothing but libc; the shared library elsewhere. The libraries of src/ do not use it.
find_path(Jansson_INCLUDE_DIR jansson.h)
find_library(Jansson_LIBRARY NAMES libjansson.a jansson)
mark_as_advanced(Jansson_INCLUDE_DIR Jansson_LIBRARY)

if(Jansson_INCLUDE_DIR)
  file(STRINGS "${Jansson_INCLUDE_DIR}/jansson.h" Jansson_VERSION REGEX "^#define JANSSON_VERSION +\"")
  string(REGEX REPLACE ".*\"(.*)\"" "\\1" Jansson_VERSION "${Jansson_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jansson
  REQUIRED_VARS Jansson_LIBRARY Jansson_INCLUDE_DIR
  VERSION_VAR Jansson_VERSION
  REASON_FAILURE_MESSAGE "bin/lido needs it: install libjansson-dev (script/setup does), or configure with -DLIDO_BUILD_TOOLS=OFF")

# Global: an object library of one folder of tools/ uses it, and bin/lido of another one links it.
if(Jansson_FOUND AND NOT TARGET Jansson::jansson)
  add_library(Jansson::jansson UNKNOWN IMPORTED GLOBAL)
  set_target_properties(Jansson::jansson PROPERTIES
    IMPORTED_LOCATION "${Jansson_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Jansson_INCLUDE_DIR}")
endif()
