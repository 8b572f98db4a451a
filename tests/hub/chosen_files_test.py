# SPDX-License-Identifier: Apache-2.0
"""`weft download --include --exclude`: files by patterns, from folders too, in the layout of huggingface_hub."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hub_server as hub  # noqa: E402
from download_test import NAME, TAKEN, WEIGHTS, HubCase  # noqa: E402


class ChosenFilesTest(HubCase):
    def setUp(self):
        super().setUp()
        self.hub.files |= {"onnx/model.json": b"{}", "onnx/a b/weights.bin": bytes(2000), "1_Pooling/config.json": b'{"a": 1}'}

    def check_files(self, names):
        snapshot = self.model / "snapshots" / hub.COMMIT
        found = {str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if not path.is_dir()}
        self.assertEqual(found, set(names))
        for name in names:
            self.assertEqual(os.readlink(snapshot / name), "../" * (2 + name.count("/")) + f"blobs/{hub.etag_of(name, self.hub.files[name])}")
            self.assertEqual((snapshot / name).read_bytes(), self.hub.files[name])

    def test_folders_stay_where_they_are(self):
        self.download()
        self.check_files(TAKEN)
        self.assertNotIn("recursive", "".join(self.hub.paths()))

    def test_patterns_reach_into_folders(self):
        for page in (1000, 2):
            self.hub.page = page
            self.assertEqual(self.download("--include", "onnx/", "--include", "*config.json", "--exclude", "token*")["files"], 4)
            self.check_files({"onnx/model.json", "onnx/a b/weights.bin", "1_Pooling/config.json", "config.json"})
        verified = self.run_weft("cache", "verify")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        # The rest is brought when the model is needed, and what is there is not asked for again.
        self.hub.requests.clear()
        self.download()
        self.assertEqual(self.hub.paths("/onnx/"), [])
        self.assertEqual(self.hub.paths(f"{hub.COMMIT}/config.json"), [])
        self.assertTrue((self.model / "snapshots" / hub.COMMIT / WEIGHTS).exists())

    def test_own_files_without_some(self):
        self.download("--exclude", "*.safetensors", "--exclude", "vocab.???")
        self.check_files(TAKEN - {WEIGHTS, "vocab.txt"})
        self.download("--tokenizer-only", "--exclude", "tokenizer_*")
        self.check_files(TAKEN - {WEIGHTS})

    def test_what_fits_nothing(self):
        self.refused(self.run_weft("download", NAME, "--include", "*.gguf"), "no file of the repository 'org/model' fits", "config.json")
        self.refused(self.run_weft("download", NAME, "--include", "*", "--exclude", "*"), "fits the patterns")
        self.assertEqual(self.run_weft("download", NAME, "--include", "*", "--tokenizer-only").returncode, 2)
        self.assertEqual(self.run_weft("download", NAME, "--include").returncode, 2)

    def test_paths_that_lead_elsewhere(self):
        good = {"type": "file", "path": "a/b", "size": 1, "oid": "0" * 40}
        for path in ("../x", "a/../../x", "a/./x", "a//x", "/x", "a/", "a/..", "a\n/x", "/".join(["a" * 200] * 9), "a/" + "b" * 256):
            self.hub.listing = [{**good, "path": path}]
            for more in ((), ("--include", "*")):
                self.refused(self.run_weft("download", NAME, *more), "is no file name")
        # A file and a folder of one name cannot both be.
        self.hub.listing = [{**good, "path": "config.json", "size": 22, "oid": hub.git_digest(self.hub.files["config.json"])},
                            {**good, "path": "config.json/x", "size": 22, "oid": hub.git_digest(self.hub.files["config.json"])}]
        self.refused(self.run_weft("download", NAME, "--include", "*"), "config.json")


if __name__ == "__main__":
    unittest.main()
