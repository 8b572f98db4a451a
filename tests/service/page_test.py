# SPDX-License-Identifier: Apache-2.0
"""What the page of `weft serve` asks for: its files under a strict policy, patterns as the commands measure them, cards, attention as the command shows it."""

import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import TEXT, make_model, results  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server, request, sized  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", "": "text/html"}
# Outside addresses that are names of formats and are never asked for.
NAMES = {"http://www.w3.org/2000/svg"}


class PageTest(Case):
    def setUp(self):
        super().setUp()
        self.model = make_model(self.folder / "names", "bert", "token-classification")

    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def files_of(self, server):
        """Path -> (content, headers) of "/" and everything that a file names, and the files that those name."""
        found, wanted = {}, ["/"]
        while wanted:
            path = wanted.pop()
            if path in found:
                continue
            status, content, headers = server.ask("GET", path)
            self.assertEqual(status, 200, path)
            found[path] = content, headers
            wanted += re.findall(r'(?:src|href)="(/[^"]+)"', content) if path == "/" else []
            wanted += ["/" + name for name in re.findall(r'from "\./([^"]+)"', content)]
        return found

    def test_files(self):
        server = self.serve(self.model)
        files = self.files_of(server)
        self.assertIn("/patterns.js", files)
        self.assertIn("/icon.svg", files)
        for path, (content, headers) in files.items():
            policy = headers["Content-Security-Policy"]
            self.assertTrue(policy.startswith("default-src 'none'; "))
            self.assertNotIn("unsafe", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["Content-Type"].split(";")[0], TYPES[pathlib.PurePosixPath(path).suffix])
            self.assertEqual(set(re.findall(r"https?://[^\s\"'<>)]+", content)) - NAMES, set(), path)
            self.assertNotIn("innerHTML", content)
            status, nothing, head = server.ask("HEAD", path)
            self.assertEqual((status, nothing), (200, ""))
            self.assertEqual(head["Content-Length"], str(len(content.encode())))
            self.assertEqual(head["Content-Security-Policy"], policy)
        page = files["/"][0]
        self.assertNotRegex(page, r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=")
        self.assertEqual(server.ask("HEAD", "/metrics")[:2], (200, ""))
        for path, status in (("/v1/models", 200), ("/v1/pattern", 405), ("/none", 404)):
            answer = server.send(request(path, method=b"HEAD", head=b"Connection: close\r\n"))
            self.assertRegex(answer, rf"^HTTP/1\.1 {status} ")
            self.assertTrue(answer.endswith("\r\n\r\n"), answer)
        self.assertEqual(server.ask("PUT", "/", {})[2]["Allow"], "GET, HEAD, POST")
        self.assert_root(server)

    def assert_root(self, server):
        """What clients of text-embeddings-inference ask of a server of one model: Chroma and InferenceClient post to its address."""
        vectors = server.ask("POST", "/", {"inputs": [TEXT, "hello"]})[1]
        self.assertEqual(vectors, server.ask("POST", "/embed", {"inputs": [TEXT, "hello"]})[1])
        inputs = {"source_sentence": TEXT, "sentences": ["hello"]}
        self.assertEqual(server.ask("POST", "/", {"inputs": inputs})[1], server.ask("POST", "/similarity", {"inputs": inputs})[1])
        status, info, _ = server.ask("GET", "/info")
        self.assertEqual((status, info["model_id"], info["model_type"], info["max_input_length"], info["auto_truncate"]), (200, "names", {"embedding": {"pooling": "mean"}}, 62, False))

    def test_keys(self):
        keys = self.folder / "keys"
        keys.write_text("secret\n")
        server = self.serve(self.model, "--api-key-file", keys)
        self.assertEqual(server.ask("GET", "/")[0], 200)
        self.assertEqual(server.ask("GET", "/main.js")[0], 200)
        for method, path in (("GET", "/v1/models"), ("GET", "/v1/models/names"), ("GET", "/v1/patterns"), ("POST", "/v1/pattern"),
                             ("POST", "/v1/models/names/attention"), ("GET", "/files/main.js"), ("GET", "/../main.js")):
            self.assertEqual(server.ask(method, path, "{}" if method == "POST" else None)[0], 401, path)
        self.assertEqual(server.ask("GET", "/v1/patterns", None, {"Authorization": "Bearer secret"})[0], 200)

    def test_patterns(self):
        server = self.serve(self.model)
        expression, site = "causal & (window(left=5) | global(input))", ["--length", "96", "--heads", "2", "--input", "0,7"]
        status, found, _ = server.ask("POST", "/v1/pattern", {"expression": expression, "length": 96, "heads": 2, "layers": 3, "input": [7, 0]})
        self.assertEqual(status, 200, found)
        graph = weft_json("pattern", "stats", expression, *site, "--layers", "3")
        self.assertEqual(found["graph"], {name: graph[name] for name in found["graph"]})
        picture = weft_json("pattern", "show", expression, *site)
        for name in ("edges", "density", "blocks", "equal_heads", "query_length"):
            self.assertEqual(found["picture"][name], picture[name])
        self.assertEqual([kind["name"] for kind in found["picture"]["kinds"]], picture["kinds"])
        self.assertEqual((found["picture"]["rows"], found["picture"]["cell"]), (96, 1))
        cost = weft_json("pattern", "cost", expression, "--length", "96", "--input", "0,7", "--heads", "2", "--layers", "3", "--width", "128", "--feed-forward", "512")
        for side in ("sparse", "dense"):
            self.assertEqual(found["cost"][side]["inference"]["total"]["flops"], cost[side]["inference"]["total"]["flops"])
        status, found, _ = server.ask("POST", "/v1/pattern", {"expression": "linear", "length": 16})
        self.assertEqual(status, 400)
        self.assertIn("'linear' is a mechanism and no pattern, so that it has no graph", found["error"])
        status, found, _ = server.ask("POST", "/v1/pattern", {"expression": "star", "length": 64, "figures": False})
        self.assertEqual((status, list(found)), (200, ["expression", "expanded", "picture"]))
        self.assertEqual(found["expanded"], "ring(2) | global(1)")
        status, language, _ = server.ask("GET", "/v1/patterns")
        self.assertGreater(len(language["gallery"]), 9)
        for entry in language["gallery"]:
            body = {name: entry[name] for name in ("expression", "length", "heads")} | {"input": [int(word) for word in entry["input"].split(",") if word]}
            status, found, _ = server.ask("POST", "/v1/pattern", body)
            self.assertEqual(status, 200, (entry, found))

    def test_hostile_patterns(self):
        server = self.serve(self.model)
        (self.folder / "secret.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n")
        for body, part in (({"expression": "windw(3)"}, "did you mean 'window'?\n  windw(3)\n  ^~~~~\n  at line 1, column 1"),
                           ({"expression": "(" * 2000}, "nest at most 64"), ({"expression": "!" * 4000}, "nest at most 64"),
                           ({"expression": "window(3)|" * 500}, "at most 4096"), ({"expression": ""}, "no 'expression'"), ({}, "no 'expression'"),
                           ({"expression": 'edges("secret.mtx")'}, "a server does not"), ({"expression": ' heads(full,\n edges ("/etc/passwd"))'}, "line 2, column 2"),
                           ({"expression": "full", "length": 4097}, "length"), ({"expression": "full", "length": -1}, "length"),
                           ({"expression": "full", "length": 1.5}, "length"), ({"expression": "full", "heads": 17}, "heads"), ({"expression": "full", "layers": 25}, "layers"),
                           ({"expression": "full", "cells": 257}, "cells"), ({"expression": "full", "input": list(range(257))}, "256"),
                           ({"expression": "global(input)"}, "'input'"), ({"expression": 7}, "expression"), ({"expression": "full", "edges": 1}, "edges"),
                           ({"expression": "global(input)", "input": [-1]}, ""), ({"expression": "heads(3 * full, full)", "heads": 2}, "heads"),
                           ({"expression": "window(99999999999999999999)"}, ""), ({"expression": "axial(5, 5)", "length": 4096}, "axial")):
            status, found, _ = server.ask("POST", "/v1/pattern", body)
            self.assertEqual((status, found["error_type"]), (400, "validation"), (body, found))
            self.assertIn(part, found["error"])
        # Long, deep and dense, but within the bounds: an answer, and a server that lives on.
        for expression in ("|".join(f"window({2 * width + 1}, dilation={1 + width % 7})" for width in range(140)), "!(" * 30 + "full" + ")" * 30,
                           "erdos_renyi(1)", "random(4096)", "watts_strogatz(4000, 1)", "|".join(f"random(9, seed={seed})" for seed in range(200)),
                           "block(2, " * 11 + "random(1)" + ")" * 11, "heads(" + ", ".join(f"random(64, seed={seed})" for seed in range(16)) + ")"):
            status, found, _ = server.ask("POST", "/v1/pattern", {"expression": expression, "length": 4096, "heads": 16, "layers": 24})
            self.assertIn(status, (200, 400), (expression, found))
        self.assertEqual(server.ask("POST", "/v1/models/names/tag", {"inputs": TEXT})[0], 200)

    def test_cards(self):
        (self.model / "README.md").write_text("---\nlicense: mit\n---\n# Names\n\n<script>alert(1)</script> \N{SNOWMAN}\n")
        other = make_model(self.folder / "other", "bert", "masked-lm")
        os.mkfifo(other / "README.md")
        server = self.serve(self.model, other)
        status, card, _ = server.ask("GET", "/v1/models/names")
        self.assertEqual(status, 200)
        self.assertEqual((card["layers"], card["width"], card["heads"], card["license"]), (2, 32, 2, "mit"))
        self.assertEqual(card["readme"], "# Names\n\n<script>alert(1)</script> \N{SNOWMAN}\n")
        self.assertTrue(card["labels"])
        status, card, _ = server.ask("GET", "/v1/models/other")
        self.assertNotIn("readme", card)
        self.assertEqual(card["mask_token"], "[MASK]")
        self.assertEqual(server.ask("GET", "/v1/models/none")[0], 404)

    def test_attention(self):
        server = self.serve(self.model)
        page = self.folder / "page.html"
        self.assertEqual(weft("attention", self.model, TEXT, "--out", page, "--cells", "128").returncode, 0)
        wanted = json.loads(DATA.search(page.read_text()).group(1))
        status, found, _ = server.ask("POST", "/v1/models/names/attention", {"inputs": TEXT})
        self.assertEqual(status, 200, found)
        self.assertEqual(found["texts"], wanted["texts"])
        self.assertEqual([part["name"] for part in found["parts"]], [part["name"] for part in wanted["parts"]])
        self.assertEqual([len(part["heads"]) for part in found["parts"]], [2, 2, 1])
        _, found, _ = server.ask("POST", "/v1/models/names/attention", {"inputs": TEXT, "parameters": {"layers": [1], "heads": [0], "top": 0}})
        self.assertEqual([(part["name"], len(part["heads"]), part["top"]) for part in found["parts"]], [(wanted["parts"][1]["name"], 1, 0)])
        for body, part in (({"inputs": [TEXT, TEXT]}, "list"), ({"inputs": TEXT, "parameters": {"layers": [9]}}, "layers 0 to 1"),
                           ({"inputs": TEXT, "parameters": {"cells": 0}}, "cells"), ({"inputs": TEXT, "parameters": {"top": 33}}, "top"), ({}, "no 'inputs'")):
            status, found, _ = server.ask("POST", "/v1/models/names/attention", body)
            self.assertEqual(status, 400, found)
            self.assertIn(part, found["error"])
        for text, part in (("the " * 300, "tokens, but"), ("a" * 140000, "131072")):
            status, found, _ = server.ask("POST", "/v1/models/names/attention", {"inputs": text})
            self.assertEqual((status, found["error_type"], part in found["error"]), (413, "too_large", True), found)

    def test_attention_of_models_that_write(self):
        self.train("--steps", "1")
        marian, unseen = make_marian(self.folder / "marian"), self.folder / "unseen"
        self.train("--steps", "1", "--attention", "linear", out=unseen)
        server = self.serve(self.run_directory, marian, unseen)
        shown = {model["id"]: model["attention"] for model in server.ask("GET", "/v1/models")[1]["data"]}
        self.assertEqual(shown, {"run": True, "marian": True, "unseen": False})
        self.assertEqual(server.ask("POST", "/v1/models/unseen/attention", {"inputs": "graph"})[0], 404)
        page = self.folder / "page.html"
        for model, texts, inputs in ((self.run_directory, ["graph token"], "graph token"), (marian, ["a man", "the loom"], {"text": "a man", "text_pair": "the loom"})):
            self.assertEqual(weft("attention", model, *texts, "--out", page, "--cells", "128").returncode, 0)
            wanted = json.loads(DATA.search(page.read_text()).group(1))
            status, found, _ = server.ask("POST", f"/v1/models/{model.name}/attention", {"inputs": inputs})
            self.assertEqual(status, 200, found)
            self.assertEqual(found["texts"], wanted["texts"])
            self.assertEqual([(part["name"], part["expression"], len(part["heads"])) for part in found["parts"]],
                             [(part["name"], part["expression"], len(part["heads"])) for part in wanted["parts"]])
        for name, inputs, part in (("run", {"text": "a", "text_pair": "b"}, "one text"), ("marian", "a man", "the source and the target"),
                                   ("marian", {"text": "a man", "text_pair": "a man " * 200}, "the target has")):
            status, found, _ = server.ask("POST", f"/v1/models/{name}/attention", {"inputs": inputs})
            self.assertEqual((status, part in found["error"]), (413 if "target has" in part else 400, True), found)
        # Looking changes nothing of what the model writes.
        asked = {"text": "a man", "target_lang": "de"}
        (wanted,) = results("translate", marian, "--target-lang", "de", "a man")
        self.assertEqual(server.ask("POST", "/translate", asked)[1]["translation"], wanted["result"][0]["translation_text"])
        self.assertEqual(server.stop()[0], 0)

    def test_patterns_do_not_wait_for_models(self):
        """A person who types a pattern gets its picture while a model works on something long."""
        self.train("--steps", "1")
        server = self.serve(self.run_directory)
        body = json.dumps({"inputs": "a", "parameters": {"max_new_tokens": 10000000}}).encode()
        with server.connect() as client:
            client.sendall(request("/generate", head=sized(body), body=body))
            while "weft_requests_running 1" not in server.ask("GET", "/metrics")[1]:
                pass
            status, found, _ = server.ask("POST", "/v1/pattern", {"expression": "window(3)", "length": 64})
            self.assertEqual((status, found["expression"]), (200, "window(3)"))
            self.assertIn("weft_requests_running 1", server.ask("GET", "/metrics")[1])
        while "weft_requests_running 0" not in server.ask("GET", "/metrics")[1]:
            pass
        self.assertEqual(server.stop(), (0, ""))


if __name__ == "__main__":
    unittest.main()
