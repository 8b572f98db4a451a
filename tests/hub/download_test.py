# SPDX-License-Identifier: Apache-2.0
"""`weft download` against a Hub on this machine: the cache it leaves, what is asked for, and every way in which a
server, a line or a disk can fail."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import hub_server as hub  # noqa: E402
from weft_program import BINARY, environment, weft  # noqa: E402

NAME = "org/model"
FOLDER = "models--org--model"
WEIGHTS = "model.safetensors"


def model_files():
    draw = random.Random(3)
    return {
        "config.json": b'{"model_type": "bert"}',
        "vocab.txt": b"[PAD]\n[UNK]\n",
        "tokenizer_config.json": b"{}",
        "README.md": b"# a card",
        WEIGHTS: draw.randbytes(300_000),
        "pytorch_model.bin": draw.randbytes(1000),
        "tf_model.h5": b"other",
        "training_args.bin": b"other",
    }


TAKEN = {"config.json", "vocab.txt", "tokenizer_config.json", WEIGHTS}


class HubCase(unittest.TestCase):
    """A test with a Hub and an empty cache."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-hub-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cache = self.folder / "hub"
        self.hub = hub.Hub(model_files())
        self.addCleanup(self.hub.close)

    def variables(self, **extra):
        given = {"HF_HUB_CACHE": str(self.cache), "HF_HOME": str(self.folder / "home"), "HF_ENDPOINT": self.hub.endpoint,
                 "WEFT_HUB_RETRY_SECONDS": "0", "no_proxy": "*"}
        return environment(**{**given, **extra})

    def run_weft(self, *arguments, **extra):
        return weft(*arguments, env=self.variables(**extra), cwd=self.folder)

    def download(self, *arguments, **extra):
        process = self.run_weft("download", NAME, *arguments, "--json", **extra)
        self.assertEqual(process.returncode, 0, process.stderr)
        return json.loads(process.stdout)[0]

    def refused(self, process, *parts):
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        lines = process.stderr.splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("weft: error: ")]), 1, process.stderr)
        self.assertLessEqual(len(lines), 2, process.stderr)
        for part in parts:
            self.assertIn(part, process.stderr)

    @property
    def model(self):
        return self.cache / FOLDER

    @property
    def blobs(self):
        return self.model / "blobs"

    def blob(self, name):
        return self.blobs / hub.etag_of(name, self.hub.files[name])

    def check_cache(self, names=frozenset(TAKEN)):
        """The layout of huggingface_hub, every byte of it."""
        snapshot = self.model / "snapshots" / hub.COMMIT
        self.assertEqual({path.name for path in snapshot.iterdir()}, set(names))
        for path in snapshot.iterdir():
            etag = hub.etag_of(path.name, self.hub.files[path.name])
            self.assertEqual(os.readlink(path), f"../../blobs/{etag}")
            self.assertEqual(path.read_bytes(), self.hub.files[path.name])
        self.assertEqual(len(list(self.blobs.iterdir())), len(names), "nothing else is left")
        self.assertEqual((self.model / "refs" / "main").read_text(), hub.COMMIT)


class LayoutTest(HubCase):
    def test_a_download_leaves_the_cache_of_huggingface_hub(self):
        got = self.download()
        self.check_cache()
        self.assertEqual(got["path"], str(self.model / "snapshots" / hub.COMMIT))
        self.assertEqual((got["commit"], got["files"]), (hub.COMMIT, len(TAKEN)))
        self.assertEqual(got["downloaded_bytes"], sum(len(self.hub.files[name]) for name in TAKEN))
        self.assertTrue((self.cache / ".locks" / FOLDER / (self.blob(WEIGHTS).name + ".lock")).exists())

    def test_what_is_there_is_not_asked_for_again(self):
        self.download()
        before = len(self.hub.paths("/resolve/"))
        self.assertEqual(self.download()["downloaded_bytes"], 0)
        self.assertEqual(len(self.hub.paths("/resolve/")), before)

    def test_pickles_are_taken_where_there_is_nothing_else(self):
        del self.hub.files[WEIGHTS]
        self.download()
        self.check_cache(TAKEN - {WEIGHTS} | {"pytorch_model.bin"})

    def test_shards_come_with_their_index_over_pages_of_the_listing(self):
        self.hub.files["model-00001-of-00002.safetensors"] = self.hub.files.pop(WEIGHTS)
        self.hub.files["model-00002-of-00002.safetensors"] = b"second"
        self.hub.files["model.safetensors.index.json"] = b'{"weight_map": {}}'
        self.hub.page = 3
        self.download()
        self.check_cache(TAKEN - {WEIGHTS} | {name for name in self.hub.files if name.startswith("model")})

    def test_a_tokeniser_alone(self):
        self.download("--tokenizer-only")
        self.check_cache(TAKEN - {WEIGHTS})

    def test_a_revision_with_a_slash(self):
        process = self.run_weft("download", NAME + "@refs/pr/1")
        self.assertEqual(process.stdout.strip(), str(self.model / "snapshots" / hub.COMMIT))
        self.assertEqual((self.model / "refs/refs/pr/1").read_text(), hub.COMMIT)
        self.assertIn("/api/models/org/model/revision/refs%2Fpr%2F1", self.hub.paths("/revision/"))

    def test_a_name_of_one_word_is_asked_for_only_where_it_is_meant(self):
        self.hub.close()
        self.hub = hub.Hub(model_files(), repository="gpt2")
        self.refused(self.run_weft("tokenize", "gpt2", "a"), "'gpt2': there is no such directory", "weft download gpt2")
        self.assertEqual(self.hub.requests, [])
        process = self.run_weft("download", "gpt2", "--tokenizer-only", "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue((self.cache / "models--gpt2").is_dir())
        requests = len(self.hub.requests)
        self.assertEqual(self.run_weft("tokenize", "gpt2", "a").returncode, 0)
        self.assertEqual(len(self.hub.requests), requests)

    def test_a_shared_blob_is_used_and_never_written(self):
        shared = self.cache / "blobs" / "ab" / "hash"
        shared.parent.mkdir(parents=True)
        shared.write_bytes(b"too short")
        self.blobs.mkdir(parents=True)
        self.blob(WEIGHTS).symlink_to("../../blobs/ab/hash")
        self.download()
        self.assertEqual(shared.read_bytes(), b"too short")
        self.check_cache()
        shared.write_bytes(self.hub.files[WEIGHTS])
        self.blob(WEIGHTS).unlink()
        self.blob(WEIGHTS).symlink_to("../../blobs/ab/hash")
        self.assertEqual(self.download()["downloaded_bytes"], 0)
        self.assertTrue(self.blob(WEIGHTS).is_symlink())


class TokenTest(HubCase):
    def test_a_token_goes_to_the_hub_and_to_nobody_else(self):
        self.hub.token = "hf_secret"
        self.download(HF_TOKEN="hf_secret")
        hosts = {}
        for host, _, headers in self.hub.requests:
            hosts.setdefault(host, set()).add(headers.get("Authorization"))
        self.assertEqual(hosts, {"127.0.0.1": {"Bearer hf_secret"}, "localhost": {None}})

    def test_the_file_of_a_login_is_read(self):
        self.hub.token = "hf_file"
        (self.folder / "home").mkdir()
        (self.folder / "home/token").write_text("hf_file\n")
        self.download()

    def test_a_token_that_cannot_be_read_stops_only_requests(self):
        self.download()
        (self.folder / "home/token").mkdir(parents=True)  # of another user: cannot be read
        listed = self.run_weft("cache", "list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.refused(self.run_weft("download", NAME), "home/token")

    def test_without_a_token_it_says_what_to_do(self):
        self.hub.token = "hf_secret"
        self.refused(self.run_weft("download", NAME), "'org/model'", "answered 401", "HF_TOKEN")

    def test_no_message_has_a_token_or_a_signature(self):
        self.hub.faults = [hub.once("/signed/", 500) for _ in range(9)]
        process = self.run_weft("download", NAME, HF_TOKEN="hf_secret")
        self.refused(process, "answered 500", "localhost")
        self.assertNotIn("secret", process.stderr)
        self.refused(self.run_weft("download", NAME, HF_TOKEN="hf_\r\nX: secret"), "HF_TOKEN must be one word")

    def test_redirects_to_nowhere_are_not_followed(self):
        for target in ("file:///etc/passwd", "ftp://127.0.0.1/x", ""):
            self.hub.faults = [hub.redirect("/resolve/", target)]
            self.refused(self.run_weft("download", NAME), "does not follow")
        self.hub.faults = [hub.redirect("/revision/", "/api/models/org/model/revision/main") for _ in range(20)]
        self.refused(self.run_weft("download", NAME), "redirects more than 10 times")


class FailureTest(HubCase):
    def test_final_answers_are_one_line(self):
        for status, headers, part in ((403, {}, "ask for access"), (404, {}, "no such model"),
                                      (404, {"X_Error_Code": "RevisionNotFound"}, "no revision"),
                                      (403, {"X_Error_Code": "GatedRepo"}, "ask for access"), (418, {}, "answered 418")):
            self.hub.faults = [hub.once("/revision/", status, **headers)]
            self.refused(self.run_weft("download", NAME), part)
        self.refused(self.run_weft("download", "org/other"), "no such model", "'org/other'")
        self.refused(self.run_weft("download", NAME + "@v9"), "no revision 'v9'")

    def test_bodies_that_nobody_reads_may_be_endless(self):
        self.hub.faults = [hub.endless("/revision/", 404)]
        self.refused(self.run_weft("download", NAME), "no such model", "answered 404")
        signed = f"{self.hub.elsewhere}/signed/{WEIGHTS}"
        self.hub.faults = [hub.endless("/tree/", 503), hub.endless("/resolve/" + hub.COMMIT + "/" + WEIGHTS, 302, Location=signed)]
        self.download()
        self.check_cache()
        self.hub.faults = [hub.endless("/tree/", 200)]
        self.refused(self.run_weft("download", NAME), "in more than 16 MiB")

    def test_names_of_other_files_do_not_matter(self):
        self.hub.files["Bildschirmfoto 10:15 C:\\x.png"] = b"picture"
        self.download()
        self.check_cache()

    def test_answers_that_pass_are_tried_again(self):
        for part in ("/revision/", "/tree/", "/resolve/", "/signed/"):
            self.hub.faults += [hub.once(part, status) for status in (429, 500, 503)]
        self.hub.faults += [hub.once("/signed/", 403)]  # a signature that ran out
        self.download()
        self.check_cache()

    def test_a_server_that_stays_broken(self):
        self.hub.faults = [hub.once("/tree/", 503) for _ in range(9)]
        self.refused(self.run_weft("download", NAME), "answered 503", "needs no network")
        self.hub.close()
        self.refused(self.run_weft("download", NAME), "cannot download 'org/model'")

    def test_twenty_cuts_end_in_a_verified_file(self):
        draw = random.Random(5)
        self.hub.faults = [hub.cut("/signed/", draw.randrange(1, 14_000)) for _ in range(20)]
        self.assertEqual(self.download()["downloaded_bytes"], sum(len(self.hub.files[name]) for name in TAKEN))
        self.check_cache()
        self.assertEqual(len(self.hub.paths("/signed/")), 21)

    def test_twenty_kills_end_in_a_verified_file(self):
        """kill -9 after a random number of bytes: the next process goes on where the part ends."""
        draw = random.Random(6)
        for _ in range(20):
            held = self.part_size()
            self.hub.faults = [hub.hold("/signed/", draw.randrange(1, 14_000))]
            process = subprocess.Popen([BINARY, "download", NAME], env=self.variables(), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            while self.part_size() == held:  # the test run's own limit ends what never comes
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.hub.faults = [hub.hold("/signed/", 1000)]
        process = subprocess.Popen([BINARY, "download", NAME], env=self.variables(), stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        held = self.part_size()
        while self.part_size() == held:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("goes on where this one stopped", said)
        self.hub.faults = []
        held = self.part_size()
        self.assertGreater(held, 20)
        self.assertEqual(self.download()["downloaded_bytes"], len(self.hub.files[WEIGHTS]) - held)
        self.check_cache()

    def part_size(self):
        part = self.blobs / (self.blob(WEIGHTS).name + ".weft.incomplete")
        return part.stat().st_size if part.exists() else 0

    def test_two_programs_bring_a_file_once(self):
        command = [BINARY, "download", NAME]
        both = [subprocess.Popen(command, env=self.variables(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
        for process in both:
            _, said = process.communicate()
            self.assertEqual(process.returncode, 0, said)
        self.assertEqual(len(self.hub.paths("/signed/")), 1)
        self.check_cache()

    def test_a_server_without_ranges_begins_anew(self):
        self.hub.ranges = False
        self.hub.faults = [hub.cut("/signed/", 5000)]
        self.download()
        self.check_cache()

    def test_a_part_of_something_else_is_found_out(self):
        self.blobs.mkdir(parents=True)
        part = self.blobs / (self.blob(WEIGHTS).name + ".weft.incomplete")
        for size in (100_000, 300_000, 400_000):
            part.write_bytes(b"x" * size)
            self.download()
            self.check_cache()
            self.blob(WEIGHTS).unlink()

    def test_a_server_that_says_nothing_is_asked_again(self):
        self.hub.faults = [hub.stall("/signed/", 100)]
        process = self.run_weft("download", NAME, HF_HUB_DOWNLOAD_TIMEOUT="1")
        # What came before the silence is of another file: it is thrown away in the end.
        self.assertEqual(process.returncode, 0, process.stderr)
        self.check_cache()

    def test_other_bytes_than_listed_are_refused(self):
        wrong = bytes(len(self.hub.files[WEIGHTS]))
        self.hub.faults = [hub.instead("/signed/", wrong)]
        self.download()  # once may be an accident
        self.check_cache()
        self.blob(WEIGHTS).unlink()
        self.hub.faults = [hub.instead("/signed/", wrong) for _ in range(2)]
        self.refused(self.run_weft("download", NAME), "sends other bytes", "expected the digest")
        self.assertFalse(self.blob(WEIGHTS).exists())
        self.assertEqual(self.part_size(), 0)

    def test_more_or_fewer_bytes_than_listed_are_refused(self):
        size = len(self.hub.files[WEIGHTS])
        for length, part in ((size + 1, "sends more than the 300000 bytes"), (size - 1, "of 300000 bytes here")):
            self.hub.faults = [hub.instead("/signed/", bytes(length)) for _ in range(9)]
            self.refused(self.run_weft("download", NAME), part)
            self.assertFalse(self.blob(WEIGHTS).exists())

    def test_listings_are_believed_in_nothing(self):
        good = {"type": "file", "path": "config.json", "size": 1, "oid": "0" * 40}
        for change, part in (({"path": "../config.json"}, "is no file name"), ({"path": "/etc/x"}, "is no file name"),
                             ({"path": ""}, "is no file name"), ({"size": -1}, "must be a number of bytes"),
                             ({"size": 1.5}, "must be a number of bytes"), ({"size": 2**63}, "must be a number of bytes"),
                             ({"oid": "../../x"}, "must have 40 hexadecimal digits"), ({"path": 7}, "must be a string"),
                             ({"lfs": {"oid": "0" * 40, "size": 1}}, "must have 64 hexadecimal digits")):
            self.hub.listing = [{**good, **change}]
            self.refused(self.run_weft("download", NAME), part)
        for listing, part in (([good], "has no weights"), ([], "has no config.json"), ({}, "must be an array"),
                              ([[]], "'type'"), ([{**good, "size": 2**45}, {**good, "path": WEIGHTS}], "the disk of")):
            self.hub.listing = listing
            self.refused(self.run_weft("download", NAME), part)
        self.hub.revisions["main"] = "../../x"
        self.refused(self.run_weft("download", NAME), "40 hexadecimal digits")
        self.hub.faults = [hub.instead("/revision/", b"[" * 100_000)]
        self.refused(self.run_weft("download", NAME), "the answer of 127.0.0.1")

    def test_a_cache_that_cannot_be_made(self):
        self.cache.write_text("a file")
        self.refused(self.run_weft("download", NAME), "cannot make the folder", "HF_HUB_CACHE")

    def test_misuse(self):
        for name in ("mo--del", "a/b/c", "../x", "org/model@", "org/model@../x", "org/mo del"):
            process = self.run_weft("download", name)
            self.assertEqual(process.returncode, 2, process.stderr)
        self.assertEqual(self.hub.requests, [])


if __name__ == "__main__":
    unittest.main()
