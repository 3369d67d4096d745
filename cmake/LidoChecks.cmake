# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# Checks of the source itself, as CTest tests with the label "check": each runs one program script/check-*.
# The system's Python rather than a version manager's wrapper, which can take half a second for every test that starts it.
if(EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Runs the checks and the tests that are written in Python")
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)

# lido_add_check(NAME PROGRAM ARGS...): 77 means skipped.
function(lido_add_check name program)
  add_test(NAME check.${name} COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/script/${program}" ${ARGN})
  set_tests_properties(check.${name} PROPERTIES LABELS check SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()

lido_add_check(includes check-includes)
lido_add_check(headers-gcc check-headers gcc g++)
lido_add_check(headers-clang check-headers clang clang++)
lido_add_check(warnings-clang check-warnings "${CMAKE_BINARY_DIR}" clang clang++)
set_tests_properties(check.headers-gcc check.headers-clang check.warnings-clang PROPERTIES PROCESSORS 2)
# COST is about the seconds of what takes long, here and in tests/: CTest starts with it, or one would run alone at the end.
set_tests_properties(check.warnings-clang PROPERTIES COST 40)

# The include check must see each kind of violation: upwards, sideways, a public header on an internal one, a public
# header on the system, and a cycle.
set(lido_bad "${CMAKE_BINARY_DIR}/check-includes-bad")
file(WRITE "${lido_bad}/src/README.md" "| 0 | `low` | |\n| 1 | `left` | |\n| 1 | `right` | |\n")
file(WRITE "${lido_bad}/src/low/a.h" "#include \"left/b.h\"\n")
file(WRITE "${lido_bad}/src/left/b.h" "#include \"right/c.h\"\n#include \"low/d.h\"\n")
file(WRITE "${lido_bad}/src/right/c.h" "#include \"e.h\"\n")
file(WRITE "${lido_bad}/src/right/e.h" "#include \"c.h\"\n")
file(WRITE "${lido_bad}/src/low/d.h" "#include <unistd.h>\n")
file(WRITE "${lido_bad}/include/lido/f.h" "#include <unistd.h>\n#include \"low/d.h\"\n")
lido_add_check(includes-sees check-includes "${lido_bad}")
set_tests_properties(check.includes-sees PROPERTIES PASS_REGULAR_EXPRESSION "6 files in 3 layers, 5 violations")

lido_add_check(style check-style)
set(lido_bad "${CMAKE_BINARY_DIR}/check-style-bad")
file(WRITE "${lido_bad}/a.c" "\tint a; \nint b;")
lido_add_check(style-sees check-style "${lido_bad}")
set_tests_properties(check.style-sees PROPERTIES PASS_REGULAR_EXPRESSION "1 files, 4 violations")

# The public headers say what each call requires, who may make it, how it fails and what it costs; and the pages made of them.
lido_add_check(reference check-reference)
set(lido_bad "${CMAKE_BINARY_DIR}/check-reference-bad")
file(WRITE "${lido_bad}/a.h" "// x\n// y\n//\n// A head.\n#ifndef A\n\n// Requires, Threads, Fails, Cost: all.\nint good(void);\n\n"
  "// Threads: any. Never fails. Requires: nothing.\nint costly(void);\n\nint silent(void);\n"
  "static inline int also_silent(void) { return 1; }\n\ntypedef struct bare {\n    int a;\n} bare;\n")
lido_add_check(reference-sees check-reference "${lido_bad}")
set_tests_properties(check.reference-sees PROPERTIES PASS_REGULAR_EXPRESSION
  "costly: nothing says its Cost.*function silent has no comment.*function also_silent.*type bare.*4 functions and 1 other names, 6 violations")
lido_add_check(reference-pages check-reference --pages "${CMAKE_BINARY_DIR}/reference")

# What other projects see: the README's program, and an installed lido. A sanitizer would have to be in their build too.
if(NOT LIDO_SANITIZE)
  lido_add_check(readme check-readme "${CMAKE_BINARY_DIR}" "${CMAKE_C_COMPILER}")
  add_test(NAME check.install COMMAND "${PROJECT_SOURCE_DIR}/script/check-install" "${CMAKE_BINARY_DIR}")
  set_tests_properties(check.install PROPERTIES LABELS check TIMEOUT 300 PROCESSORS 2)
endif()
