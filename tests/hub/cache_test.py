# SPDX-License-Identifier: Apache-2.0
"""Models by name in every command, the cache without a network, and `weft cache`."""
import hashlib
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import hub_server as hub  # noqa: E402
from download_test import FOLDER, NAME, WEIGHTS, HubCase  # noqa: E402
from weft_program import weft  # noqa: E402

OTHER = "abcdef1234567890abcdef1234567890abcdef12"


class NamesTest(HubCase):
    """With a real model."""

    def setUp(self):
        super().setUp()
        made = self.folder / "made"
        process = weft("init", "--family", "bert", "--num-hidden-layers", 1, "--hidden-size", 8, "--num-attention-heads", 1,
                       "--intermediate-size", 8, "--vocab-size", 16, "--out", made)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.hub.files = {path.name: path.read_bytes() for path in made.iterdir()}
        shutil.rmtree(made)

    def test_a_name_is_a_directory_from_then_on(self):
        first = self.run_weft("info", NAME, "--json")
        self.assertEqual(first.returncode, 0, first.stderr)
        asked = len(self.hub.requests)
        self.assertGreater(asked, 2)
        for extra in ({}, {"HF_HUB_OFFLINE": "1"}, {"TRANSFORMERS_OFFLINE": "yes"}):
            again = self.run_weft("info", NAME, "--json", **extra)
            self.assertEqual(again.stdout, first.stdout, again.stderr)
        self.assertEqual(self.run_weft("info", f"{NAME}@{hub.COMMIT}", "--json").stdout, first.stdout)
        converted = self.run_weft("convert", NAME, "--attention", "window(2)", "--length", 1024, "--out", self.folder / "long")
        self.assertEqual(converted.returncode, 0, converted.stderr)
        self.assertEqual(len(self.hub.requests), asked, "the cache is asked first, and is enough")

    def test_a_directory_of_that_name_wins(self):
        (self.folder / NAME).mkdir(parents=True)
        self.refused(self.run_weft("info", NAME), "config.json")
        shutil.rmtree(self.folder / NAME)
        # A slip in a path of one's own is nobody else's business.
        self.refused(self.run_weft("info", NAME), "config.json")
        self.assertEqual(self.hub.requests, [])

    def test_offline_is_offline(self):
        self.refused(self.run_weft("info", NAME, HF_HUB_OFFLINE="1"), "does not have it", "weft download org/model")
        self.refused(self.run_weft("download", NAME, HF_HUB_OFFLINE="1"), "forbids a download")
        snapshot = self.model / "snapshots" / hub.COMMIT
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_bytes(self.hub.files["config.json"])
        (self.model / "refs").mkdir()
        (self.model / "refs/main").write_text(hub.COMMIT)
        self.refused(self.run_weft("info", NAME, TRANSFORMERS_OFFLINE="1"), "only a part")
        self.assertEqual(self.hub.requests, [])

    def test_a_name_that_is_nowhere(self):
        self.refused(self.run_weft("info", "org/nothing"), "no directory 'org/nothing'", "correct the name")
        self.hub.close()
        self.refused(self.run_weft("info", NAME), "cannot download 'org/model'", "127.0.0.1")

    def test_training_begins_with_a_name(self):
        self.hub.files["vocab.txt"] = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijk"]).encode()
        text = self.folder / "text.txt"
        text.write_text("a b c d e f g " * 200)
        process = self.run_weft("train", "--task", "mlm", "--model", NAME, "--train-text", text, "--steps", 1, "--context", 16,
                                "--batch-size", 1, "--threads", 1, "--out", self.folder / "run")
        self.assertEqual(process.returncode, 0, process.stderr)


class CacheTest(HubCase):
    def listed(self):
        process = self.run_weft("cache", "list", "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        return json.loads(process.stdout)["models"]

    def test_an_empty_cache(self):
        self.assertEqual(self.listed(), [])
        self.assertIn("no models", self.run_weft("cache", "list").stdout)
        self.refused(self.run_weft("cache", "remove", NAME), "has no model 'org/model'")
        self.refused(self.run_weft("cache", "verify", NAME), "has no model 'org/model'")
        self.assertEqual(self.run_weft("cache", "remove", "../x").returncode, 2)

    def test_what_is_there_is_listed_and_good(self):
        self.download()
        (self.cache / "models--x--y--z").mkdir()
        (self.cache / "datasets--org--data").mkdir()
        (self.blobs / "half.incomplete").write_bytes(b"12345")
        (model,) = self.listed()
        self.assertEqual(model["model"], NAME)
        self.assertEqual(model["unfinished_bytes"], 5)
        (revision,) = model["revisions"]
        self.assertEqual((revision["commit"], revision["names"], revision["files"]), (hub.COMMIT, ["main"], 4))
        self.assertIn(NAME, self.run_weft("cache", "list").stdout)
        verified = self.run_weft("cache", "verify", "--json")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertEqual(json.loads(verified.stdout)["models"][0]["files"], 4)

    def test_a_reference_that_is_no_commit_is_no_reference(self):
        self.download()
        for name, text in (("long", "x" * 5000), ("empty", ""), ("path", "../../../etc")):
            (self.model / "refs" / name).write_text(text)
        self.assertEqual(self.listed()[0]["revisions"][0]["names"], ["main"])
        self.refused(self.run_weft("cache", "remove", NAME + "@long"), "no revision 'long'")
        (self.model / "refs/main").write_text("x" * 5000)
        self.download()
        self.check_cache()

    def test_damage_is_found(self):
        self.download()
        data = bytearray(self.hub.files[WEIGHTS])
        data[1000] ^= 1
        self.blob(WEIGHTS).write_bytes(data)
        # A blob of the right size is taken for whole: only verify reads its bytes.
        self.download("--tokenizer-only")
        process = self.run_weft("cache", "verify", NAME)
        self.assertEqual(process.returncode, 1)
        found = hashlib.sha256(data).hexdigest()
        self.assertIn(f"{self.blob(WEIGHTS)}: expected the digest {self.blob(WEIGHTS).name}, as the file is called, found {found} of its bytes", process.stdout)
        self.assertIn("1 file in the cache", process.stderr)
        self.assertIn("`weft cache remove org/model` and then `weft download org/model` bring them anew", process.stderr)
        self.blob("vocab.txt").unlink()
        process = self.run_weft("cache", "verify", NAME)
        self.assertIn("vocab.txt: the file that it links to is not there", process.stdout)
        self.assertIn("2 files", process.stderr)
        outside = self.folder / "outside"
        outside.write_text("mine")
        config = self.model / "snapshots" / hub.COMMIT / "config.json"
        config.unlink()
        config.symlink_to(outside)
        process = self.run_weft("cache", "verify", NAME)
        self.assertRegex(process.stdout, r"config\.json' is a symbolic link that leaves the directory .*: it leads to '.*/outside'")
        self.assertIn("3 files", process.stderr)
        # What the error says mends it.
        self.assertEqual(self.run_weft("cache", "remove", NAME).returncode, 0)
        self.download()
        self.assertEqual(self.run_weft("cache", "verify", NAME).returncode, 0)

    def second_revision(self):
        snapshot = self.model / "snapshots" / OTHER
        snapshot.mkdir()
        (snapshot / WEIGHTS).symlink_to(f"../../blobs/{self.blob(WEIGHTS).name}")
        (self.blobs / ("0" * 40)).write_bytes(b"own")
        (snapshot / "config.json").symlink_to("../../blobs/" + "0" * 40)
        (self.model / "refs/old").write_text(OTHER)

    def test_one_revision_goes_and_shared_files_stay(self):
        self.download()
        self.second_revision()
        process = self.run_weft("cache", "remove", NAME + "@old")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.check_cache()
        self.assertFalse((self.model / "refs/old").exists())
        self.refused(self.run_weft("cache", "remove", NAME + "@old"), "no revision 'old'")

    def test_the_last_revision_takes_the_folder_with_it(self):
        self.download()
        (self.blobs / "half.incomplete").write_bytes(b"12345")
        self.assertEqual(self.run_weft("cache", "remove", NAME + "@main").returncode, 0)
        self.assertEqual([file.name for file in self.blobs.iterdir()], ["half.incomplete"])  # another program may be writing it
        (self.blobs / "half.incomplete").unlink()
        self.download()
        self.assertEqual(self.run_weft("cache", "remove", NAME + "@main").returncode, 0)
        self.assertFalse(self.model.exists())
        self.assertEqual(self.listed(), [])

    def test_a_model_goes_and_nothing_behind_its_links(self):
        self.download()
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "file").write_text("mine")
        (self.model / "snapshots" / hub.COMMIT / "link").symlink_to(outside)
        self.assertEqual(self.run_weft("cache", "remove", NAME, "--json").returncode, 0)
        self.assertFalse(self.model.exists())
        self.assertFalse((self.cache / ".locks" / FOLDER).exists())
        self.assertEqual((outside / "file").read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
