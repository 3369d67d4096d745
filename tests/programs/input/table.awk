# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# awk under test: associative arrays, string building, substitution, deletion.
function tally(key, value) {
  seen[key]++
  sum[key] += value % 1000
  trail[key] = trail[key] substr($0, 1, 9) ";"
}
{
  tally($1, $2)
  line = $0
  replaced += gsub(/[aeiou]+/, "<&>", line)
  long = length(line) > length(long) ? line : long
  fields[NF] = fields[NF] " " NR % 10
  if (NR % 3 == 0) delete seen[$1]
}
END {
  for (key in sum) { keys++; total += sum[key]; size += length(trail[key]) }
  for (key in seen) kept++
  print NR, keys, kept, total, size, replaced
  print length(long), long
  for (n in fields) print n, length(fields[n])
  text = sprintf("%s%30s|%-30s|%08.3f", "x", "right", "left", total / 7)
  print toupper(text)
}
