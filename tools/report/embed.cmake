# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# Joins the page of `lido report` and writes it as C: what stands before the data, and what stands behind.
# Usage: cmake -DOUT=page_data.c "-DSCRIPTS=a.js;b.js" -P embed.cmake
# In page.html the lines @STYLE@, @SCRIPT@ and @DATA@ are the places; each must be there once.

# Text as a C string literal, one line a line. A second '?' is escaped: ISO C reads some pairs as trigraphs.
function(c_string text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "??" "?\\?" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  set(${result} "\n    \"${text}\"" PARENT_SCOPE)
endfunction()

# What stands before and behind the line `mark` of a text.
function(cut text mark before after)
  string(FIND "${text}" "${mark}\n" at)
  string(FIND "${text}" "${mark}\n" last REVERSE)
  if(at EQUAL -1 OR NOT at EQUAL last)
    message(FATAL_ERROR "page.html must have one line ${mark}")
  endif()
  string(LENGTH "${mark}\n" length)
  string(SUBSTRING "${text}" 0 ${at} head)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${text}" ${at} -1 tail)
  set(${before} "${head}" PARENT_SCOPE)
  set(${after} "${tail}" PARENT_SCOPE)
endfunction()

file(READ "${CMAKE_CURRENT_LIST_DIR}/page.html" page)
file(READ "${CMAKE_CURRENT_LIST_DIR}/page.css" style)
set(script "")
foreach(name IN LISTS SCRIPTS)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/${name}" part)
  if(part MATCHES "</script")
    message(FATAL_ERROR "${name} would end its own <script>")
  endif()
  string(APPEND script "${part}")
endforeach()

cut("${page}" "@STYLE@" before_style rest)
cut("${rest}" "@DATA@" before_data rest)
cut("${rest}" "@SCRIPT@" before_script after_script)
c_string("${before_style}${style}${before_data}" head)
c_string("${before_script}${script}${after_script}" tail)
file(WRITE "${OUT}" "// Made by embed.cmake.\n#include \"report.h\"\n\n"
  "const char report_page_head[] =${head};\n\nconst char report_page_tail[] =${tail};\n")
