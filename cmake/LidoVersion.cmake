# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# The version stands once, in include/lido/defs.h (LIDO_VERSION_MAJOR, _MINOR, _PATCH); this reads it from there.
set(lido_defs "${CMAKE_CURRENT_LIST_DIR}/../include/lido/defs.h")
set(LIDO_VERSION 0.1.0)
if(EXISTS "${lido_defs}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${lido_defs}")
  file(READ "${lido_defs}" lido_text)
  set(lido_parts)
  foreach(part MAJOR MINOR PATCH)
    if(NOT lido_text MATCHES "LIDO_VERSION_${part}[ \t=]+([0-9]+)")
      message(FATAL_ERROR "include/lido/defs.h does not define LIDO_VERSION_${part} as a number")
    endif()
    list(APPEND lido_parts ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN lido_parts . LIDO_VERSION)
endif()
