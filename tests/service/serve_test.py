# SPDX-License-Identifier: Apache-2.0
"""`weft serve` with tiny models: answers equal the command line's; keys, limits, draining, and what cannot be served."""

import base64
import concurrent.futures
import http.client
import json
import math
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import FIXTURES, TEXT, make_model, results  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from weft_program import BINARY, Case, environment, weft, weft_json  # noqa: E402

class Server:
    """A running `weft serve`; `stop` gives its exit code and what it wrote to standard error."""

    def __init__(self, *arguments):
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen([BINARY, "serve", *map(str, arguments), "--port", "0", "--threads", "1", "--json"],
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment(WEFT_PROGRESS_SECONDS="0"))  # no request shows its progress, however long it takes
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise AssertionError(f"the server ended: {self.errors.read()}")
        self.started = json.loads(line)
        self.where = self.started["listening"]
        self.port = int(self.where.rsplit(":", 1)[1]) if self.where.startswith("http") else 0

    def ask(self, method, path, body=None, headers=None):
        """(status, JSON or text, headers); a body that is no text is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path, text, headers or {})
            answer = connection.getresponse()
            content = answer.read().decode()
            is_json = answer.headers["Content-Type"] == "application/json"
            return answer.status, json.loads(content) if is_json else content, answer.headers
        finally:
            connection.close()

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=600)
        return client

    def send(self, data):
        """The first line of the answer to raw bytes, and all after it; "" where the connection ends without one."""
        with self.connect() as client:
            try:
                client.sendall(data)
            except OSError:
                pass  # refused while still sending: the answer is there
            return read_all(client)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=600)
        self.process.stdout.close()
        self.errors.seek(0)
        return code, self.errors.read()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def read_all(client):
    received = b""
    try:
        while piece := client.recv(65536):
            received += piece
    except OSError:
        pass
    return received.decode(errors="replace")


def request(path="/translate", body=b"", head=b"", method=b"POST", version=b"HTTP/1.1"):
    return b"%s %s %s\r\nHost: localhost\r\n%s\r\n%s" % (method, path.encode(), version, head, body)


def sized(body):
    return b"Content-Length: %d\r\n" % len(body)


class ServeTest(Case):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def assert_close(self, found, wanted):
        """The same to rounding: padding and threads change the last digits of scores."""
        if isinstance(wanted, float):
            self.assertAlmostEqual(found, wanted, places=4)
        elif isinstance(wanted, (list, dict)):
            pairs = wanted.items() if isinstance(wanted, dict) else enumerate(wanted)
            self.assertEqual(len(found), len(wanted))
            for key, value in pairs:
                self.assert_close(found[key], value)
        else:
            self.assertEqual(found, wanted)

    def test_translations(self):
        model = make_marian(self.folder / "marian")
        server = self.serve(model)
        text = 'The loom said: "A man called \'hello\' walks." Hello, world!\nA man.'
        (wanted,) = results("translate", model, "--target-lang", "de", text)
        wanted = wanted["result"][0]["translation_text"]
        for path in ("/translate", "/translate/", "/v1/models/marian/translate"):
            status, found, _ = server.ask("POST", path, {"source_lang": "en", "target_lang": "de", "text": text})
            self.assertEqual((status, found), (200, {"source_lang": "en", "target_lang": "de", "translation": wanted}))
        self.assertEqual(server.ask("POST", "/translate", {"q": text, "source": "auto", "target": "de"})[1], {"translatedText": wanted})
        self.assertEqual(server.ask("POST", "/translate", {"q": [text, "hello"], "source": "en", "target": "de"})[1]["translatedText"][0], wanted)
        self.assertEqual(server.ask("POST", "/translate", {"inputs": text, "parameters": {"tgt_lang": "de"}})[1], [{"translation_text": wanted}])
        for body, part in (({"text": text, "target_lang": "xx"}, "'xx'"), ({"text": 1}, "'text' must be a string, found number"), ({}, "no 'text'"),
                           ({"text": text, "target_lang": "de", "txet": 1}, "'txet'"), ({"q": "a", "target": "de", "format": "html"}, "'html'"),
                           ({"text": text}, "name one in 'target_lang'"), ({"q": "a"}, "name one in 'target'"), ({"inputs": "a"}, "name one in 'tgt_lang' in 'parameters'"),
                           ({"inputs": "a", "parameters": {"tgt_lang": 3}}, "tgt_lang"), ({"inputs": "a", "parameters": []}, "object"),
                           ({"inputs": [], "parameters": {"tgt_lang": "de"}}, "empty"), ({"text": [1], "target_lang": "de"}, "text[0]")):
            status, found, _ = server.ask("POST", "/translate", body)
            self.assertEqual((status, found["error_type"]), (400, "validation"), found)
            self.assertIn(part, found["error"])
        status, found, _ = server.ask("POST", "/summarize", {"inputs": "a man " * 200})
        self.assertEqual((status, found["error_type"]), (413, "too_large"))
        self.assertRegex(found["error"], "has 801 tokens, but .* reads at most [0-9]+; 'truncation' in 'parameters' cuts")
        long = {"inputs": "a man " * 200, "parameters": {"truncation": True}}
        (cut,) = results("summarize", model, "--truncate", long["inputs"])
        self.assertEqual(server.ask("POST", "/summarize", long)[1], cut["result"])
        pair = {"text": "the loom weaves", "text_pair": "hello world and a man"}
        (aligned,) = results("align", model, "--target-lang", "de", *pair.values())
        parameters = {"tgt_lang": "de"}
        self.assertTrue(aligned["result"]["links"])
        self.assert_close(server.ask("POST", "/align", {"inputs": pair, "parameters": parameters})[1], aligned["result"])
        self.assert_close(server.ask("POST", "/v1/models/marian/align", {"inputs": [pair, pair], "parameters": parameters})[1], [aligned["result"]] * 2)
        for body, status, part in (({"inputs": pair}, 400, "name one in 'tgt_lang'"), ({"inputs": "a man", "parameters": parameters}, 400, "text_pair"),
                                   ({"inputs": pair, "parameters": {"tgt_lang": "xx"}}, 400, "'xx'"), ({"inputs": pair | {"text": "a man " * 200}, "parameters": parameters}, 413, "tokens")):
            status_found, found, _ = server.ask("POST", "/align", body)
            self.assertEqual((status_found, part in found["error"], "--" in found["error"]), (status, True, False), found)
        self.assertEqual(server.ask("POST", "/translate", {"text": text, "target_lang": "de"})[1]["translation"], wanted)  # looking changed nothing
        self.many_at_once(server, model)
        self.assertEqual(server.stop(), (0, ""))

    def test_the_reference_request(self):
        """As people send it with curl, which says that the body is a form: sentences, and quotation marks within others."""
        model = make_marian(self.folder / "cs-en", "marian-separate")
        settings = json.loads((model / "tokenizer_config.json").read_text())
        (model / "tokenizer_config.json").write_text(json.dumps(settings | {"source_lang": "cs", "target_lang": "en"}))
        text = 'Řekl: "Čtu knihu \'Malý „princ“\' už potřetí." Nevěřila mu! Pak odešla\u2026 A vrátila se?'
        (wanted,) = results("translate", model, text)
        asked = {"source_lang": "cs", "target_lang": "en", "text": text}
        wanted = {**asked, "translation": wanted["result"][0]["translation_text"]}
        del wanted["text"]
        server = self.serve(model)
        for body in (json.dumps(asked), json.dumps(asked, ensure_ascii=False).encode()):
            for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json; charset=utf-8"}):
                status, found, _ = server.ask("POST", "/translate/", body, headers)
                self.assertEqual((status, found), (200, wanted))
        if curl := shutil.which("curl"):
            command = [curl, "--silent", "--noproxy", "*", "-X", "POST", f"localhost:{server.port}/translate/", "--data", json.dumps(asked, ensure_ascii=False)]
            self.assertEqual(json.loads(subprocess.run(command, capture_output=True, check=True, timeout=600).stdout), wanted)
        for change, part in (({"source_lang": "de"}, "'cs'"), ({"target_lang": "fr"}, "'en'")):
            status, found, _ = server.ask("POST", "/translate/", asked | change)
            self.assertEqual((status, part in found["error"]), (400, True), found)
        self.assertEqual(server.stop(), (0, ""))

    def many_at_once(self, server, model):
        texts = ["a man", "hello world", "the loom weaves the thread", "no", ""] * 8
        wanted = {text: results("translate", model, "--target-lang", "de", text)[0]["result"][0]["translation_text"] for text in set(texts)}
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            found = pool.map(lambda text: server.ask("POST", "/translate", {"text": text, "target_lang": "de"})[1]["translation"], texts)
            self.assertEqual(list(found), [wanted[text] for text in texts])

    def test_encoders(self):
        models = {head: make_model(self.folder / name, "bert", head) for name, head in (
            ("labels", "sequence-classification"), ("entities", "token-classification"), ("reader", "question-answering"), ("masks", "masked-lm"))}
        server = self.serve(*models.values(), f"again={models['masked-lm']}")
        status, listed, _ = server.ask("GET", "/v1/models")
        self.assertEqual(status, 200)
        self.assertEqual({entry["id"]: entry["tasks"] for entry in listed["data"]},
                         {"labels": ["classify", "embed"], "entities": ["embed", "tag"], "reader": ["answer", "embed"],
                          "masks": ["embed", "fill-mask"], "again": ["embed", "fill-mask"]})
        command = ("classify", models["sequence-classification"], "--top-k", "0")
        labels = [results(*command, text)[0]["result"] for text in (TEXT, "hello")]
        self.assert_close(server.ask("POST", "/classify", {"inputs": TEXT})[1], labels[0])
        self.assert_close(server.ask("POST", "/classify", {"inputs": [TEXT, "hello"], "parameters": {"top_k": 0}})[1], labels)
        tagged = results("tag", models["token-classification"], "--aggregation-strategy", "simple", TEXT)[0]["result"]
        self.assert_close(server.ask("POST", "/v1/models/entities/tag", {"inputs": TEXT})[1], tagged)
        asked = {"inputs": {"question": "who weaves?", "context": TEXT}, "parameters": {"top_k": 2}}
        status, answers, _ = server.ask("POST", "/answer", asked)
        self.assertEqual((status, len(answers)), (200, 2))
        self.assertTrue(all(TEXT[answer["start"]:answer["end"]] == answer["answer"] for answer in answers))
        filled = results("fill-mask", models["masked-lm"], "the [MASK] weaves", "--top-k", "2")[0]["result"]
        self.assert_close(server.ask("POST", "/v1/models/again/fill-mask", {"inputs": "the [MASK] weaves", "parameters": {"top_k": 2}})[1], filled)
        status, several, _ = server.ask("POST", "/fill-mask", {"inputs": "the [MASK]"})
        self.assertEqual((status, "masks, again" in several["error"]), (404, True))
        (vector,) = server.ask("POST", "/v1/models/masks/embed", {"inputs": TEXT})[1]
        self.assert_close(vector, results("embed", models["masked-lm"], "--normalize", TEXT)[0]["result"])
        for members, part in (({"truncation_direction": "Left", "truncate": True}, "cuts the end"), ({"prompt_name": "query"}, "'query'"),
                              ({"dimensions": 33}, "'dimensions'"), ({"truncation": True}, "'truncation'")):
            status, found, _ = server.ask("POST", "/v1/models/masks/embed", {"inputs": "long " * 200, **members})
            self.assertEqual((status, part in found["error"], "--" in found["error"]), (400, True, False), found)
        status, found, _ = server.ask("POST", "/classify", {"inputs": "long " * 200})
        self.assertEqual((status, found["error_type"], "--" in found["error"]), (413, "too_large", False), found)
        self.assertRegex(found["error"], "[0-9]+ tokens, but .* takes at most 62 at once; 'truncation' in 'parameters' cuts the text there")
        meant = {"inputs": TEXT, "truncate": None, "truncation_direction": "Right", "prompt_name": None, "dimensions": None}
        self.assert_close(server.ask("POST", "/v1/models/masks/embed", meant)[1], [vector])
        for path, body in (("/classify", {"inputs": TEXT, "parameters": {"top_k": -1}}), ("/classify", {"inputs": TEXT, "parameters": {"top_k": 1e99}}),
                           ("/answer", {"inputs": TEXT}), ("/v1/models/masks/embed", {"inputs": TEXT, "normalize": "yes"}),
                           ("/v1/models/masks/fill-mask", {"inputs": "no mask"})):
            self.assertEqual(server.ask("POST", path, body)[0], 400, path)
        self.assertEqual(server.stop()[0], 0)

    def sentence_directory(self, name):
        """An encoder whose directory says like those of sentence-transformers how its tokens become a vector."""
        model = make_model(self.folder / name, "bert", "masked-lm")
        (model / "1_Pooling").mkdir()
        (model / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
        kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
        (model / "modules.json").write_text(json.dumps([{"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                                        for index, (path, kind) in enumerate(kinds.items())]))
        (model / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "hello "}, "similarity_fn_name": "dot"}))
        return model

    def test_shapes_of_other_servers(self):
        """One sitting: vectors, rerankers and classifiers as OpenAI's, text-embeddings-inference's, Cohere's and Jina's clients ask for them."""
        models = [self.sentence_directory("sentences"), make_model(self.folder / "reranker", "bert", "sequence-classification", "--labels", "relevant"),
                  make_model(self.folder / "labels", "bert", "sequence-classification"), make_model(self.folder / "masks", "bert", "masked-lm")]
        server = self.serve(*models, "--allowed-origins", "https://pages.example")
        listed = {entry["id"]: entry["tasks"] for entry in server.ask("GET", "/v1/models")[1]["data"]}
        self.assertEqual(listed, {"sentences": ["embed", "fill-mask"], "reranker": ["classify", "rerank"], "labels": ["classify", "embed"], "masks": ["embed", "fill-mask"]})
        self.embeddings(server, models[0])
        self.vectors_of_tei(server, models[0])
        self.rerankers(server, models[1])
        self.predictions(server)
        self.pages_of_other_origins(server)
        self.assertEqual(server.stop()[0], 0)

    def test_requests_of_clients(self):
        """What the clients of tests/parity/clients/clients_parity.py were seen to send, answered as it was there."""
        embedder = make_model(self.folder / "embedder", "bert", "none")
        server = self.serve(embedder, make_model(self.folder / "reranker", "bert", "sequence-classification", "--labels", "relevant"))
        recorded = json.loads((FIXTURES / "clients" / "requests.json").read_text())
        self.assertGreater(len(recorded), 7)
        known = {}
        for client, requests in recorded.items():
            for sent in requests:
                with self.subTest(client=client, body=sent["body"]):
                    path = "/embed" if sent["path"] == "/" else sent["path"]  # `/` is the task of a server's only model
                    status, found, _ = server.ask("POST", path, sent["body"], sent["headers"])
                    self.assertEqual(status, sent["status"], found)
                    texts = json.loads(sent["body"]).get("input", json.loads(sent["body"]).get("inputs"))
                    if status == 200 and isinstance(texts, list):
                        vectors = found if isinstance(found, list) else [one["embedding"] for one in found["data"]]
                        if isinstance(vectors[0], str):
                            vectors = [struct.unpack(f"<{len(base64.b64decode(text)) // 4}f", base64.b64decode(text)) for text in vectors]
                        asked = ("--dimensions", len(vectors[0]), *texts)
                        known[asked] = known.get(asked) or [line["result"] for line in results("embed", embedder, "--normalize", *asked)]
                        self.assert_close([list(vector) for vector in vectors], known[asked])
        self.assertEqual(server.stop()[0], 0)

    def embeddings(self, server, model):
        path = "/v1/embeddings"
        wanted = [line["result"] for line in results("embed", model, "--normalize", TEXT, "hello")]
        status, found, headers = server.ask("POST", path, {"input": [TEXT, "hello"], "model": "sentences"})
        self.assertEqual((status, found["object"], found["model"], headers["X-Truncated-Tokens"]), (200, "list", "sentences", None), found)
        self.assertEqual([(one["object"], one["index"]) for one in found["data"]], [("embedding", 0), ("embedding", 1)])
        self.assert_close([one["embedding"] for one in found["data"]], wanted)
        ids, more = ([window["input_ids"] for window in weft_json("tokenize", model, text)["result"]][0] for text in (TEXT, "hello"))
        tokens = [len(ids), len(more)]
        self.assertEqual(found["usage"], {"prompt_tokens": sum(tokens), "total_tokens": sum(tokens)})
        self.assertEqual(headers["X-Compute-Tokens"], str(sum(tokens)))
        packed = server.ask("POST", path, {"input": TEXT, "model": "sentences", "encoding_format": "base64", "user": "me"})[1]["data"][0]["embedding"]
        self.assert_close(list(struct.unpack("<32f", base64.b64decode(packed))), wanted[0])
        # Fewer numbers, and then the norm.
        (short,) = server.ask("POST", "/embeddings", {"input": [TEXT], "model": "sentences", "dimensions": 5})[1]["data"]
        size = math.hypot(*wanted[0][:5])
        self.assert_close(short["embedding"], [number / size for number in wanted[0][:5]])
        # Ids of the model's own tokens, with and without the special ones; others are refused, and not read as something else.
        for given in (ids, ids[1:-1], [ids[1:-1]]):
            self.assert_close(server.ask("POST", path, {"input": given, "model": "sentences"})[1]["data"][0]["embedding"], wanted[0])
        self.assertEqual(len(server.ask("POST", path, {"input": [ids, ids[:3]], "model": "sentences"})[1]["data"]), 2)
        # A path that names the model needs no `model`, and looks at none.
        for body in ({"input": TEXT}, {"input": TEXT, "model": "text-embedding-3-small"}):
            self.assert_close(server.ask("POST", "/v1/models/sentences/embeddings", body)[1]["data"][0]["embedding"], wanted[0])
        (one,) = server.ask("POST", "/v1/models/sentences/embedding", {"content": TEXT})[1]  # as llama.cpp
        self.assert_close(one, {"index": 0, "embedding": [wanted[0]]})
        for body, status, param, code in (({"input": TEXT, "model": "text-embedding-3-small"}, 404, "model", "model_not_found"),
                                          ({"input": TEXT, "model": "reranker"}, 404, "model", "model_not_found"), ({"input": TEXT}, 400, None, "validation"),
                                          ({"model": "sentences"}, 400, "input", "validation"), ({"input": [10 ** 9], "model": "sentences"}, 400, "input", "validation"),
                                          ({"input": TEXT, "model": "sentences", "dimensions": 33}, 400, "dimensions", "validation"),
                                          ({"input": TEXT, "model": "sentences", "stream": True}, 400, None, "validation"), ("{", 400, None, "validation"),
                                          ({"input": ["a"] * 5000, "model": "sentences"}, 413, None, "too_large"), ("x" * (1 << 22), 413, None, "too_large")):
            found_status, found, _ = server.ask("POST", path, body)
            self.assertEqual((found_status, found["error"]["param"], found["error"]["code"]), (status, param, code), found)
            self.assertEqual(set(found["error"]), {"message", "type", "param", "code"})
            self.assertEqual(found["error"]["type"], "invalid_request_error")
        self.assertIn("sentences", server.ask("POST", path, {"input": TEXT, "model": "x"})[1]["error"]["message"])
        self.assertEqual(server.ask("GET", path)[1]["error"]["code"], "method_not_allowed")
        backwards = {"input": [ids[-2:0:-1]], "model": "sentences"}
        self.assertIn(server.ask("POST", path, backwards)[0], (200, 400))

    def vectors_of_tei(self, server, model):
        base = "/v1/models/sentences"
        (plain,) = server.ask("POST", f"{base}/embed", {"inputs": TEXT})[1]
        self.assert_close(plain, results("embed", model, TEXT)[0]["result"])  # the directory's own norm
        (asked,) = server.ask("POST", f"{base}/embed", {"inputs": TEXT, "prompt_name": "query"})[1]
        self.assert_close(asked, results("embed", model, "hello " + TEXT)[0]["result"])
        (bare,) = server.ask("POST", f"{base}/embed", {"inputs": TEXT, "normalize": False})[1]
        self.assertGreater(abs(math.hypot(*bare) - 1), 0.01)
        (states,) = server.ask("POST", f"{base}/embed_all", {"inputs": TEXT})[1]
        self.assertEqual((len(states), len(states[0])), (len(weft_json("tokenize", model, TEXT)["result"][0]["input_ids"]), 32))
        self.assert_close(states[0], bare)  # the first token's, which the pooling takes
        # A long text is read whole, and cut only where the request says so, and the answer how much.
        status, whole, headers = server.ask("POST", f"{base}/embed", {"inputs": "long " * 200, "truncate": None})
        self.assertEqual((status, headers["X-Truncated-Tokens"]), (200, None))
        status, cut, headers = server.ask("POST", f"{base}/embed", {"inputs": "long " * 200, "truncate": True})
        self.assertGreater(int(headers["X-Truncated-Tokens"]), 100)
        self.assertEqual(int(headers["X-Compute-Tokens"]), 62)
        sentences = {"source_sentence": TEXT, "sentences": ["hello", TEXT]}
        found = server.ask("POST", f"{base}/similarity", {"inputs": sentences, "parameters": {"truncate": True}})[1]
        (hello,) = server.ask("POST", f"{base}/embed", {"inputs": "hello"})[1]
        self.assert_close(found, [sum(a * b for a, b in zip(plain, hello)), 1.0])
        for path, body, part in ((f"{base}/similarity", {"inputs": TEXT}, "source_sentence"), (f"{base}/similarity", {"inputs": {**sentences, "sentences": []}}, "sentences"),
                                 (f"{base}/embed", {"inputs": TEXT, "prompt_name": "document"}, "'document'"), (f"{base}/embed_all", {"inputs": TEXT, "normalize": True}, "'normalize'")):
            status, found, _ = server.ask("POST", path, body)
            self.assertEqual((status, found["error_type"], part in found["error"]), (400, "validation", True), found)

    def rerankers(self, server, model):
        texts = ["hello", TEXT, "hello"]
        scores = {entry["index"]: entry["score"] for entry in results("rerank", model, "who weaves?", *texts)[0]["result"]}
        order = sorted(range(3), key=lambda index: -scores[index])
        body = {"query": "who weaves?", "texts": texts}
        found = server.ask("POST", "/rerank", {**body, "return_text": True})[1]
        self.assertEqual([(entry["index"], entry["text"]) for entry in found], [(index, texts[index]) for index in order])
        self.assert_close([entry["score"] for entry in found], [scores[index] for index in order])
        raw = server.ask("POST", "/rerank", {**body, "raw_scores": True, "truncate": True})[1]
        self.assert_close([1 / (1 + math.exp(-entry["score"])) for entry in raw], [scores[index] for index in order])
        asked = {"model": "reranker", "query": "who weaves?", "documents": ["hello", {"text": TEXT}, "hello"], "top_n": 2, "return_documents": True}
        for path in ("/v1/rerank", "/v2/rerank", "/rerank", "/v1/models/reranker/rerank"):
            status, found, _ = server.ask("POST", path, asked)
            self.assertEqual((status, [entry["index"] for entry in found["results"]]), (200, order[:2]), found)
            self.assertEqual([entry["document"] for entry in found["results"]], [{"text": texts[index]} for index in order[:2]])
            self.assert_close([entry["relevance_score"] for entry in found["results"]], [scores[index] for index in order[:2]])
        self.assertEqual(server.ask("POST", "/v1/rerank", {**asked, "top_n": None, "model": None})[0], 200)
        for changes, status in (({"model": "rerank-v3.5"}, 404), ({"documents": []}, 400), ({"max_tokens_per_doc": 100}, 400), ({"top_n": 0}, 400)):
            found_status, found, _ = server.ask("POST", "/v1/rerank", asked | changes)
            self.assertEqual((found_status, set(found), found["message"]), (status, {"message", "detail"}, found["detail"]))
        # A reranker has no vectors, and says so in one line.
        status, found, _ = server.ask("POST", "/v1/models/reranker/embed", {"inputs": TEXT})
        self.assertEqual((status, found["error_type"]), (404, "not_found"))

    def predictions(self, server):
        base = "/v1/models/labels"
        wanted = server.ask("POST", f"{base}/classify", {"inputs": TEXT, "parameters": {"function_to_apply": "softmax"}})[1]
        pair = server.ask("POST", f"{base}/classify", {"inputs": {"text": TEXT, "text_pair": "hello"}, "parameters": {"function_to_apply": "softmax"}})[1]
        self.assert_close(server.ask("POST", f"{base}/predict", {"inputs": TEXT})[1], wanted)
        self.assert_close(server.ask("POST", f"{base}/predict", {"inputs": [TEXT, "hello"]})[1], pair)
        self.assert_close(server.ask("POST", f"{base}/predict", {"inputs": [[TEXT], [TEXT, "hello"]]})[1], [wanted, pair])
        raw = server.ask("POST", f"{base}/predict", {"inputs": TEXT, "raw_scores": True})[1]
        whole = sum(math.exp(entry["score"]) for entry in raw)
        self.assert_close([math.exp(entry["score"]) / whole for entry in raw], [entry["score"] for entry in wanted])
        (one,) = server.ask("POST", "/v1/models/reranker/predict", {"inputs": ["who weaves?", TEXT]})[1]
        (ranked,) = server.ask("POST", "/rerank", {"query": "who weaves?", "texts": [TEXT]})[1]
        self.assert_close((one["label"], one["score"]), ("relevant", ranked["score"]))
        self.assertEqual(server.ask("POST", f"{base}/predict", {"inputs": "long " * 200})[0], 413)
        self.assertEqual(server.ask("POST", "/predict", {"inputs": TEXT})[0], 404)  # two have it

    def pages_of_other_origins(self, server):
        page, other = {"Origin": "https://pages.example"}, {"Origin": "https://evil.example"}
        asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang"}
        names = ("Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Allow-Credentials", "Vary")
        for path in ("/v1/embeddings", "/nothing"):
            status, said, headers = server.ask("OPTIONS", path, None, page | asks)
            self.assertEqual((status, said, *(headers[name] for name in names)), (204, "", page["Origin"], "GET, HEAD, POST", asks["Access-Control-Request-Headers"], None, "Origin"))
        for body, status in (({"input": "hello", "model": "sentences"}, 200), ({"input": "hello"}, 400), ({"input": "hello", "model": "x"}, 404)):
            found, _, headers = server.ask("POST", "/v1/embeddings", body, page)
            self.assertEqual((found, *(headers[name] for name in names)), (status, page["Origin"], None, None, None, "Origin"))
        for origin in (other, {"Origin": "null"}, {"Origin": "http://pages.example"}):
            for method, headers in (("OPTIONS", asks), ("POST", {})):
                status, found, answered = server.ask(method, "/v1/embeddings", "{}", origin | headers)
                self.assertEqual((status, *(answered[name] for name in names)), (403, None, None, None, None, "Origin"))
        self.assertEqual(server.ask("OPTIONS", "/v1/embeddings")[0], 405)  # asks for nothing
        self.assertEqual(server.ask("GET", "/health")[2]["Vary"], "Origin")

    def test_keys_limits_and_draining(self):
        model = make_marian(self.folder / "marian")
        keys = self.folder / "keys.txt"
        keys.write_text("# mine\nopen sesame\n")
        server = self.serve(model, "--api-key-file", keys, "--max-in-flight", "1", "--allowed-origins", "https://pages.example")
        for path, member in (("/v1/embeddings", "error"), ("/v1/models/any/embeddings", "error"), ("/v2/rerank", "detail")):
            status, found, headers = server.ask("POST", path, {}, {"Origin": "https://pages.example"})
            self.assertEqual((status, headers["Access-Control-Allow-Origin"], member in found), (401, "https://pages.example", True))
            self.assertEqual(found["error"]["code"] if member == "error" else found["message"][:12], "invalid_api_key" if member == "error" else "no valid key")
        self.assertEqual(server.ask("OPTIONS", "/translate", None, {"Origin": "https://pages.example", "Access-Control-Request-Method": "POST"})[0], 204)
        self.assertEqual(server.ask("POST", "/")[0], 401)  # the page is open, what is posted to its path is not
        body, key = {"text": "a man", "target_lang": "de"}, {"Authorization": "Bearer open sesame"}
        for headers in ({}, {"Authorization": "Bearer open"}, {"Authorization": "Basic open sesame"}):
            for path in ("/translate", "/v1/models", "/nothing"):
                status, found, answered = server.ask("POST", path, body, headers)
                self.assertEqual((status, found["error_type"], answered["WWW-Authenticate"]), (401, "unauthorized", "Bearer"))
        self.assertEqual(server.ask("POST", "/translate", body, key)[0], 200)
        self.assertEqual([server.ask("GET", path)[0] for path in ("/health", "/ready", "/metrics")], [200, 200, 200])
        with server.connect() as idle, concurrent.futures.ThreadPoolExecutor(16) as pool:
            long = {"text": "a man walks. " * 400, "target_lang": "de"}
            answers = list(pool.map(lambda _: server.ask("POST", "/translate", long, key), range(16)))
            self.assertEqual({status for status, _, _ in answers} - {200, 429}, set())
            self.assertTrue(any(status == 200 for status, _, _ in answers))
            refused = [(found, headers) for status, found, headers in answers if status == 429]
            for found, headers in refused:
                self.assertEqual((found["error_type"], headers["Retry-After"]), ("overloaded", "1"))
            with server.connect() as client:  # a request that the server has when the signal comes is answered
                text = json.dumps(long | {"text": "a man walks. " * 4000}).encode()
                client.sendall(request(head=b"Authorization: Bearer open sesame\r\n" + sized(text), body=text))
                for _ in range(1000):
                    if "weft_requests_running 1" in server.ask("GET", "/metrics")[1]:
                        break
                code, said = server.stop()
                self.assertEqual((code, said), (0, ""))
                self.assertRegex(read_all(client), "^HTTP/1.1 200 OK")
            self.assertEqual(read_all(idle), "")

    def test_what_cannot_be_served(self):
        model = make_marian(self.folder / "marian")
        self.assert_fails(weft("serve", model, model), 2, "two models", "NAME=DIR")
        self.assert_fails(weft("serve", f"a b={model}"), 2, "'a b=", "letters")
        named = model.rename(self.folder / "lr=0.1")  # whose '=' gives no name
        self.assert_fails(weft("serve", named.name, cwd=self.folder), 2, "the model 'lr=0.1' has no name for a path", "NAME=DIR")
        (self.folder / "k=v.weft").write_text("")
        self.assert_fails(weft("serve", f"m={named}", "--index", "k=v.weft", cwd=self.folder), 2, "the store 'k=v.weft' has no name", "NAME=STORE")
        self.assert_fails(weft("serve", "s=k=v.weft", cwd=self.folder), 1, "'k=v.weft': is a file, expected a directory", "--index STORE")
        model = named.rename(model)
        self.assert_fails(weft("serve", model, "--port", "65536"), 2, "--port")
        self.assert_fails(weft("serve", model, "--address", "localhost"), 1, "'localhost'", "127.0.0.1")
        self.assert_fails(weft("serve", model, "--api-key-file", "/nonexistent"), 1, "/nonexistent")
        for origin in ("*", "https://example.org/"):
            self.assert_fails(weft("serve", model, "--allowed-origins", origin), 1, f"'{origin}'", "https://example.org")
        # What a link leads to would be in /v1/models/marian, or in an answer.
        (self.folder / "secret").write_text("secret")
        linked = self.folder / "linked"
        shutil.copytree(model, linked)
        for name in ("README.md", "generation_config.json"):
            (linked / name).unlink(missing_ok=True)
            (linked / name).symlink_to("../secret")
            self.assert_fails(weft("serve", linked), 1, f"{name}' is a symbolic link that leaves the directory", "/secret'")
            (linked / name).unlink()
        path = self.folder / "socket"
        server = Server(model, "--unix-socket", path)
        self.addCleanup(server.end)
        self.assertEqual(server.where, f"unix:{path}")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(request("/health", method=b"GET", head=b"Connection: close\r\n"))
            self.assertIn('{"status":"ok"}', read_all(client))
        self.assert_fails(weft("serve", model, "--unix-socket", path), 1, "socket", "in use")
        self.assertEqual(server.stop()[0], 0)
        self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
