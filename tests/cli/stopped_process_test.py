# SPDX-License-Identifier: Apache-2.0
"""One of two processes that stands still ends the other, after the minute that it may be silent."""

import signal
import unittest

from weft_program import Case


class StoppedProcessTest(Case):
    def test_one_that_stands_still_ends_the_other(self):
        self.stop_one_of_two(self.run_directory, 1, signal.SIGSTOP)


if __name__ == "__main__":
    unittest.main()
