# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# tar, xz, zstd and gzip under test, on the folder "tree". Compressors run with threads and windows of many megabytes; they
# give the same bytes whatever the threads' timing.
set -euo pipefail
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf all.tar tree
xz -T2 --block-size=300KiB -3 -k all.tar
zstd -q -T2 -B400K -12 -k all.tar
gzip -n -k all.tar
sha256sum all.tar*
xz -T2 -dc all.tar.xz | cmp - all.tar
zstd -q -dc all.tar.zst | cmp - all.tar
gzip -dc all.tar.gz | cmp - all.tar
for packed in all.tar.xz all.tar.zst all.tar.gz; do
    mkdir out
    tar -xf $packed -C out
    diff -r tree out/tree
    rm -r out
done
tar -tvzf all.tar.gz | wc -l
zstd -q --train tree/*/* -o dictionary --maxdict=20000 -T2
zstd -q -D dictionary -r tree -c | wc -c
