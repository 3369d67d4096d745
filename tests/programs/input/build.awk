# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# awk under test: a string built piece by piece, split, and a command read line by line.
BEGIN {
  for (i = 0; i < 5000; i++) text = text i ","
  print length(text)
  n = split(text, part, ",")
  for (i = 1; i < n; i++) sum += part[i]
  print n, sum
  while (("seq 1 3000" | getline line) > 0) last = line
  print last
}
