# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# grep under test, on the files "in", "patterns" and "binary". The DFA grows with its input, -f builds one automaton of 900
# patterns, -P goes through PCRE's own memory.
set -euo pipefail
grep -c -F -f patterns in
grep -n -w -f patterns in | sha256sum
grep -E -o '(k0[0-9]+|[a-z]{20,}) [0-9]*7' in | sha256sum
grep -P -c '(?<=k0)(\d+) \d*(?=3 )' in
grep -i -v -c 'ABCDEFGHIJ' in
grep -c -E '([a-f]+ ){2}' in
grep -b -a -o -P '\x41\x42+' binary | sha256sum
grep -r -l k00001 --include='i*' .
grep -q -E '(a)(b).*\2\1x' in || echo "no line with the back-references"
