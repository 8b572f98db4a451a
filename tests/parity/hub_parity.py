#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weft and Python's huggingface_hub on one cache: what either downloads the other finds, without a network."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/hub"), str(ROOT / "tests/cli")]

import hub_server as hub  # noqa: E402

BINARY = os.environ.get("WEFT_BINARY", ROOT / "build/release/bin/weft")
NAME = "org/model"
TAKEN = ["config.json", "model.safetensors", "vocab.txt"]

# Both processes read their variables at their start, so that each step is one of its own.
FIND = """
import sys
from huggingface_hub import snapshot_download, try_to_load_from_cache, scan_cache_dir
for name in sys.argv[2:]:
    path = try_to_load_from_cache(sys.argv[1], name)
    assert isinstance(path, str), (name, path)
assert snapshot_download(sys.argv[1], allow_patterns=sys.argv[2:]).endswith(path.split("/")[-2])
info = scan_cache_dir()
assert not info.warnings, info.warnings
(repository,) = info.repos
assert repository.repo_id == sys.argv[1]
(revision,) = repository.revisions
assert {file.file_name for file in revision.files} == set(sys.argv[2:]), revision.files
print("found")
"""
DOWNLOAD = """
import sys
from huggingface_hub import snapshot_download
print(snapshot_download(sys.argv[1], allow_patterns=sys.argv[2:]))
"""


def python(code, variables, *names):
    return subprocess.run([sys.executable, "-c", code, NAME, *names], env=variables, capture_output=True, text=True, check=False)


def weft(variables, *arguments):
    return subprocess.run([BINARY, *arguments], env=variables, capture_output=True, text=True, check=False)


def said(what, process, good):
    print(f"{'ok' if good else 'DIFFERS':8} {what}")
    if not good:
        print(process.stdout[-1500:] + process.stderr[-3000:], file=sys.stderr)
    return 0 if good else 1


def main():
    files = {"config.json": b'{"model_type": "bert"}', "vocab.txt": b"[PAD]\n", "model.safetensors": bytes(range(256)) * 900}
    server = hub.Hub(files)
    failed = 0
    for first in ("weft", "huggingface_hub"):
        with tempfile.TemporaryDirectory() as folder:
            online = os.environ | {"HF_HOME": folder, "HF_ENDPOINT": server.endpoint, "HF_HUB_DISABLE_XET": "1", "no_proxy": "*",
                                   "HF_HUB_DISABLE_TELEMETRY": "1"}
            for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN"):
                online.pop(name, None)
            offline = online | {"HF_HUB_OFFLINE": "1"}
            if first == "weft":
                process = weft(online, "download", NAME)
                failed += said("weft downloads", process, process.returncode == 0)
                process = python(FIND, offline, *TAKEN)
                failed += said("huggingface_hub finds it, offline", process, process.stdout.strip() == "found")
            else:
                process = python(DOWNLOAD, online, *TAKEN)
                failed += said("huggingface_hub downloads", process, process.returncode == 0)
                asked = len(server.requests)
                process = weft(offline, "tokenize", NAME, "a", "--json")
                failed += said("weft finds it, offline", process, "there is no directory" not in process.stderr)
                process = weft(online, "download", NAME, "--json")
                good = process.returncode == 0 and json.loads(process.stdout)[0]["downloaded_bytes"] == 0
                failed += said("weft has nothing to download", process, good and len(server.requests) == asked + 2)
            process = weft(offline, "cache", "verify", NAME, "--json")
            good = process.returncode == 0 and json.loads(process.stdout)["models"][0]["files"] == len(TAKEN)
            failed += said("weft cache verify", process, good)
    server.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
