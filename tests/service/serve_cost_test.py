# SPDX-License-Identifier: Apache-2.0
"""Small requests that ask for much: what they cost is known before, what is too much is refused, and the rest goes in pieces that look at their ticket."""

import json
import pathlib
import signal
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import make_model  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_load_test import gauge, resident  # noqa: E402
from serve_test import Server, read_all, request, sized  # noqa: E402
from weft_program import Case  # noqa: E402

SECRET = "SesameOfAClient"
WORDS = "the loom weaves thread . "  # 24 bytes and a blank
PAIR = {"text": "a man walks . " * 3, "text_pair": "hello world . " * 3}
LONG = "the loom " * 6
MASKS = "[MASK] " * 10
MANY = 1 << 20
MOST_ANSWERED = 1 << 24
READ_TOGETHER = 1024  # tokens of a piece: a batch, or one text
PROMPT = "a thread " * 200
# Requests that take long for their size, by path: what they ask for is admitted, and their texts have so many bytes.
HOSTILE = {
    "/v1/models/labels/classify": {"inputs": ["a"] * 4096},
    "/tag": {"inputs": WORDS * 4000, "parameters": {"aggregation_strategy": "none", "ignore_labels": []}},
    "/answer": {"inputs": {"question": "who?", "context": WORDS * 4000}, "parameters": {"top_k": 512, "max_answer_len": 1000}},
    "/fill-mask": {"inputs": [MASKS] * 50, "parameters": {"top_k": MANY}},
    "/choose": {"inputs": [{"prompt": "a", "choices": ["hello"] * 64}] * 100},
    "/restore": {"inputs": [WORDS * 400] * 10},
    "/v1/models/labels/embed": {"inputs": ["a man"] * 4096},
    "/v1/models/labels/embeddings": {"input": ["a man"] * 4096, "encoding_format": "base64"},
    "/v1/models/labels/embed_all": {"inputs": WORDS * 500},
    "/v1/models/labels/predict": {"inputs": [["a man", "hello"]] * 4096},
    "/rerank": {"query": "who?", "texts": ["a man"] * 4096},
    "/generate": {"inputs": [PROMPT, "a"], "parameters": {"max_new_tokens": 10_000_000, "num_beams": 32, "num_return_sequences": 32}},
    "/translate": {"text": "a man . \n" * 20000, "target_lang": "de"},
    "/summarize": {"inputs": ["a man"] * 4096},
    "/align": {"inputs": [PAIR] * 2000, "parameters": {"tgt_lang": "de"}},
    "/v1/models/labels/attention": {"inputs": LONG, "parameters": {"cells": 256, "top": 32}},
    "/v1/models/run/attention": {"inputs": "a thread " * 2000, "parameters": {"cells": 256, "top": 16}},
}
# What is too much, and the limit that says so.
REFUSED = (
    ("/v1/models/labels/classify", {"inputs": ["a"] * 400_000}, "max_request_texts"), ("/v1/models/labels/embed", {"inputs": ["a"] * 100_000}, "max_request_texts"),
    ("/summarize", {"inputs": [""] * 5000}, "max_request_texts"), ("/align", {"inputs": [PAIR] * 5000, "parameters": {"tgt_lang": "de"}}, "max_request_texts"),
    ("/fill-mask", {"inputs": MASKS * 1000, "parameters": {"top_k": MANY}}, "max_answer_bytes"), ("/tag", {"inputs": [WORDS * 1000] * 60}, "max_answer_bytes"),
    ("/answer", {"inputs": [{"question": "a", "context": LONG}] * 4000, "parameters": {"top_k": 4096}}, "max_answer_bytes"),
    ("/restore", {"inputs": [WORDS * 1000] * 80}, "max_answer_bytes"), ("/translate", {"q": [WORDS * 1000] * 80, "target": "de"}, "max_answer_bytes"),
    ("/generate", {"inputs": "a" * 1_900_000}, "max_text_bytes"), ("/tag", {"inputs": "a" * 1_900_000}, "max_text_bytes"),
    ("/translate", {"text": "a" * 1_900_000, "target_lang": "de"}, "max_text_bytes"), ("/summarize", {"inputs": "a " * 900_000}, "max_text_bytes"),
    ("/choose", {"inputs": {"prompt": "a" * 1_900_000, "choices": ["a", "b"]}}, "max_text_bytes"), ("/generate", {"inputs": "a " * 260_000}, "max_batch_texts"),
    ("/v1/models/run/attention", {"inputs": "a" * 200_000}, "131072"),
    ("/v1/models/labels/embed_all", {"inputs": WORDS * 1000}, "max_answer_bytes"), ("/rerank", {"query": "a" * 100_000, "texts": ["a"] * 4097}, "max_request_texts"),
    ("/rerank", {"query": "a" * 600_000, "texts": ["a"]}, "max_text_bytes"),
)


def models(case):
    words = make_model(case.folder / "words", "bert", "token-classification", "--labels", "O", "S-Title", "S-.", "S-UPPER?")
    heads = {"labels": "sequence-classification", "reader": "question-answering", "masks": "masked-lm", "choices": "multiple-choice"}
    case.train("--steps", "1")
    ranker = make_model(case.folder / "ranker", "bert", "sequence-classification", "--labels", "relevant")
    return [f"run={case.run_directory}", make_marian(case.folder / "marian"), words, ranker, *(make_model(case.folder / name, "bert", head) for name, head in heads.items())]


def bytes_of_texts(value):
    if isinstance(value, str):
        return len(value.encode())
    return sum(map(bytes_of_texts, value.values() if isinstance(value, dict) else value)) if isinstance(value, (dict, list)) else 0


def send(server, path, body):
    """A connection on which the request is under way."""
    data = json.dumps(body).encode()
    client = server.connect()
    client.sendall(request(path, head=sized(data), body=data))
    return client


class CostTest(Case):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def until(self, condition):
        while not condition():
            time.sleep(0.005)

    def test_costs_pieces_and_limits(self):
        server = self.serve(*models(self), "--drain-seconds", "0.2", "--max-answer-bytes", MOST_ANSWERED)
        self.refuses_what_is_too_much(server)
        before = resident(server)
        for path, body in HOSTILE.items():
            with self.subTest(path=path):
                self.goes_in_pieces(server, path, body)
        listed = server.ask("GET", "/v1/models")[1]["data"]
        room = sum(model["memory"]["packed"] + model["memory"]["work"] for model in listed) + gauge(server, "weft_request_memory_bytes")
        self.assertLess(resident(server, "VmHWM") - before, room)
        self.ends_under_all(server)

    def refuses_what_is_too_much(self, server):
        before = gauge(server, "weft_batches_total")
        for path, body, part in REFUSED:
            with self.subTest(path=path, part=part):
                status, found, _ = server.ask("POST", path, body)
                self.assertEqual((status, found["error_type"]), (413, "too_large"), found)
                self.assertIn(part, found["error"])
                self.assertNotIn(str(self.folder), found["error"])
        self.assertLessEqual(gauge(server, "weft_batches_total") - before, 2, "what a tokeniser must count is begun, and no other")

    def goes_in_pieces(self, server, path, body):
        """The cost that was admitted covers its texts; while it is computed it looks again and again, and lets short work by; it ends with its client."""
        looks, admitted = gauge(server, "weft_looks_total"), gauge(server, "weft_admitted_tokens_total")
        with send(server, path, body) as client:
            self.until(lambda: gauge(server, "weft_admitted_tokens_total") > admitted)
            self.assertGreaterEqual(gauge(server, "weft_admitted_tokens_total") - admitted, bytes_of_texts(body.get("inputs", body.get("text", body.get("input", body.get("texts"))))))
            status, _, _ = server.ask("POST", "/v1/models/labels/classify", {"inputs": "a man"})
            self.assertEqual(status, 200)
            # Bytes behind the request hide nothing: the client is seen to leave.
            client.sendall(b"GET ")
            client.shutdown(socket.SHUT_WR)
            self.until(lambda: gauge(server, "weft_requests_running") + gauge(server, "weft_requests_waiting") == 0)
        self.assertGreater(gauge(server, "weft_looks_total") - looks, 2)
        longest = bytes_of_texts(body["inputs"]) if "attention" in path or "generate" in path else 0
        self.assertLessEqual(gauge(server, "weft_largest_piece_tokens"), max(READ_TOGETHER, longest, self.largest))
        self.largest = max(self.largest, longest)

    largest = 0

    def ends_under_all(self, server):
        """All of them at once, and SIGTERM: the server ends with its drain, whatever there is to do."""
        clients = [send(server, path, body) for path, body in HOSTILE.items()]
        self.until(lambda: gauge(server, "weft_requests_running") > 0)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=600), 0)
        for client in clients:
            client.close()
        server.errors.seek(0)
        said = server.errors.read()
        for line in said.splitlines():
            self.assertRegex(line, "connections that did not end in time|in the middle of a piece")

    def test_a_second_signal_ends_at_once(self):
        """A drain of an hour, a text without an end, and two signals."""
        self.train("--steps", "1")
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve(self.run_directory, "--drain-seconds", "3600")
            with send(server, "/generate", {"inputs": "a", "parameters": {"max_new_tokens": 10_000_000}}) as client:
                self.until(lambda: gauge(server, "weft_requests_running") == 1)
                server.process.send_signal(number)
                self.until(lambda: self.is_draining(server))
                self.assertIsNone(server.process.poll())
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(timeout=600), 0)
                self.assertEqual(read_all(client), "")
            server.errors.seek(0)
            self.assertEqual(server.errors.read(), "")

    @staticmethod
    def is_draining(server):
        try:
            server.connect().close()
        except (ConnectionRefusedError, ConnectionResetError):  # reset: it waited to be accepted when the server stopped listening
            return True
        return False

    def test_what_clients_say_stays_with_them(self):
        """No text of a client in the log, and no path of this machine in an answer."""
        masks, marian = make_model(self.folder / "masks", "bert", "masked-lm"), make_marian(self.folder / "marian")
        server = self.serve(masks, marian)
        asked = [("/fill-mask", {"inputs": "the [MASK]", "parameters": {"targets": [f"{SECRET}{i}" for i in range(1000)]}}), ("/fill-mask", {"inputs": SECRET}),
                 ("/fill-mask", {"inputs": [], "parameters": {"targets": [SECRET]}}), ("/translate", {"text": SECRET, "source_lang": SECRET, "target_lang": SECRET}),
                 ("/align", {"inputs": {"text": SECRET, "text_pair": SECRET}, "parameters": {"src_lang": SECRET, "tgt_lang": "de"}}),
                 ("/align", {"inputs": {"text": SECRET, "text_pair": SECRET}}), ("/translate", {"text": SECRET}), ("/summarize", {"inputs": SECRET}),
                 ("/summarize", {"inputs": f"{SECRET} " * 1000}), ("/v1/models/masks/embed", {"inputs": SECRET, SECRET: SECRET}), (f"/{SECRET}", {"inputs": SECRET}),
                 ("/v1/models/masks/attention", {"inputs": f"{SECRET} " * 1000}), ("/v1/models/marian/attention", {"inputs": {"text": f"{SECRET} " * 100, "text_pair": SECRET}}),
                 ("/v1/pattern", {"expression": SECRET}), ("/v1/pattern", {"expression": f'edges("{SECRET}")'})]
        for path, body in asked:
            with self.subTest(path=path):
                status, found, _ = server.ask("POST", path, body)
                self.assertLess(status, 500, found)
                self.assertNotIn(str(self.folder), json.dumps(found))
        server.send(b"\0\r\n\r\n")
        code, said = server.stop()
        self.assertEqual(code, 0)
        self.assertNotIn(SECRET, said)
        self.assertEqual(said, "")


if __name__ == "__main__":
    unittest.main()
