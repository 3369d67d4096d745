# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# Checks of the source itself, as CTest tests with the label "check": each runs one script/check-* program.
