# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# coreutils under test, on the files "in", "by-key" and "by-number": small filters, joins, shuffles, sums.
set -euo pipefail
comm -12 by-key <(sort -r by-number | sort) | wc
join unique by-key | sha256sum
tac in | cut -d' ' -f2 | sha256sum
uniq -w6 -c by-key | sha256sum
shuf --random-source=in in | sha256sum
tr a-m A-M < in | fold -w40 | sha256sum
split -n l/7 in part.
cat part.* | sha256sum
paste -d, in by-key | sha512sum
base64 in | md5sum
od -x in | cksum
fmt -w 60 in | sha256sum
nl in | expand | sha256sum
seq 1 2 40000 | factor | sha256sum
ls -l --time-style=+%Y part.* | wc -l
