# SPDX-License-Identifier: Apache-2.0
"""Servers that are not silent, but never come to an end: a little at a time, for ever. Each download ends with one line."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hub_server as hub  # noqa: E402
from download_test import NAME, WEIGHTS, HubCase  # noqa: E402


class SlowServersTest(HubCase):
    def variables(self, **extra):
        return super().variables(**{"HF_HUB_ETAG_TIMEOUT": "1", "HF_HUB_DOWNLOAD_TIMEOUT": "1", "WEFT_HUB_LISTING_SECONDS": "1", **extra})

    def test_a_list_that_trickles(self):
        for part in ("/revision/", "/tree/"):
            for status in (200, 503):
                self.hub.faults = [hub.trickle(part, status) for _ in range(9)]
                self.refused(self.run_weft("download", NAME), "did not come within 1 seconds", "WEFT_HUB_LISTING_SECONDS")

    def test_a_head_that_trickles(self):
        self.hub.faults = [hub.trickle("/tree/", 200, head=True) for _ in range(9)]
        self.refused(self.run_weft("download", NAME), "cannot download 'org/model'")
        self.hub.faults = [hub.trickle("/signed/", 200, head=True)]
        self.download()
        self.check_cache()

    def test_a_refusal_of_a_file_that_trickles(self):
        signed = f"{self.hub.elsewhere}/signed/{WEIGHTS}"
        self.hub.faults = [hub.trickle(f"{hub.COMMIT}/{WEIGHTS}", 302, Location=signed), hub.trickle("/signed/", 503)]
        self.download()
        self.check_cache()

    def test_a_server_that_asks_for_more_time_than_there_is(self):
        self.hub.faults = [hub.once("/tree/", 429, Retry_After="30")]
        self.refused(self.run_weft("download", NAME), "did not come within 1 seconds", "answered 429")
        self.assertEqual(len(self.hub.paths("/tree/")), 1)

    def test_values_that_are_no_time(self):
        for value in ("0", "-1", "x", "1e9", "nan"):
            self.refused(self.run_weft("download", NAME, WEFT_HUB_LISTING_SECONDS=value), "WEFT_HUB_LISTING_SECONDS must be")


if __name__ == "__main__":
    unittest.main()
