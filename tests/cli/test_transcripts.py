# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""The transcripts must see a difference: each of these has exactly one fault. Usage: test_transcripts.py BUILD"""

import sys
import unittest

import transcript

BUILD = sys.argv.pop(1)


class Sees(unittest.TestCase):
    def faults(self, text):
        return transcript.run(text, BUILD)[1]

    def test_what_is_right(self):
        self.assertEqual([], self.faults("$ echo a; echo b\na\n~ [b-d]\n"))
        self.assertEqual([], self.faults("$ echo a; echo b; echo c\n...\nc\n"))
        self.assertEqual([], self.faults("$ echo e >&2; exit 3\n! e\n? 3\n"))
        self.assertEqual([], self.faults("$ kill -9 $$\n? 137\n"))

    def test_what_is_wrong(self):
        for text in ("$ echo a\nb\n", "$ echo a\n", "$ true\na\n", "$ echo ab\n~ a\n", "$ echo a >&2\na\n", "$ exit 1\n",
                     "$ true\n? 1\n", "$ echo a >&2\n", "$ echo a; echo b\n...\na\n"):
            self.assertEqual(1, len(self.faults(text)), text)


if __name__ == "__main__":
    unittest.main()
