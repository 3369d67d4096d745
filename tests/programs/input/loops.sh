# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# bash under test: what it allocates for (words, arrays, functions, here-documents) and what it forks for.
set -euo pipefail

text=
for ((i = 0; i < 20000; i++)); do text+="line $i,"; done
echo "grown ${#text} ${text: -12}"

declare -A table
for ((i = 0; i < 8000; i++)); do table[key$((i * 7919 % 4001))]+="$i "; done
total=0
for key in "${!table[@]}"; do total=$((total + ${#table[$key]})); done
echo "table ${#table[@]} $total"

mapfile -t lines < <(for ((i = 0; i < 5000; i++)); do printf '%s\n' "row $((i * i % 1009))"; done)
echo "lines ${#lines[@]} ${lines[4999]}"
sorted=$(printf '%s\n' "${lines[@]}" | sort | uniq -c | sort -k1,1n -k2 | tail -1)
echo "sorted $sorted"

count=0
for ((i = 0; i < 30; i++)); do
  part=$(echo "$i" | { read -r n; echo $((n * 2)); })
  count=$((count + part))
done
echo "subshells $count"

for ((i = 0; i < 8; i++)); do
  (for ((k = 0; k < 10; k++)); do s=$(printf '%*s' $((k % 60 + 1)) x); done; exit $((i % 3))) &
done
failed=0
for job in $(jobs -p); do wait "$job" || failed=$((failed + 1)); done
echo "jobs failed $failed"

fibonacci() { if (($1 < 2)); then echo "$1"; else echo $(($(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2))))); fi; }
echo "fibonacci $(fibonacci 4)"

for ((i = 0; i < 8; i++)); do
  cat << HERE | wc -c
${text:0:i * 40} $i
HERE
done | sort -n | tail -1

head=${text:0:40000}
words=(${head//,/ })
echo "words ${#words[@]}"
echo "upper ${text:0:20}" | while read -r -a parts; do echo "${parts[@]^^}"; done
[[ $text =~ line\ (1[0-9]{3}),line ]] && echo "match ${BASH_REMATCH[1]}"
trap 'echo "exit trap"' EXIT
coproc REPLY_ALL { while read -r line; do echo "reply $line"; done; }
echo ping >&"${REPLY_ALL[1]}"
read -r answer <&"${REPLY_ALL[0]}"
echo "$answer"
