# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# find and xargs under test, on the folder "tree": walks, parallel children, deletion.
set -euo pipefail
find tree -printf '%p %s %m\n' | sort | sha256sum
find tree -type f -size +400c -print0 | xargs -0 -P 4 -n 40 sha256sum | sort | sha256sum
find tree -name 'f*7' -exec cat {} + | cksum
find tree -type f | sort | xargs -n 50 -P 2 basename -a | sort | cksum
find tree -type f -name 'f1*' -delete
find tree -regex '.*/f[0-9]*[13]' | wc -l
