# SPDX-License-Identifier: Apache-2.0
"""Tasks of `weft serve` beside those of encoders: `generate`, `choose`, `restore`, and answers that come as events, piece by piece."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import TEXT, make_model, results  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server, read_all, request, sized  # noqa: E402
from weft_program import Case, weft, weft_json  # noqa: E402

EVENTS = {"Accept": "text/event-stream"}


def events_of(text):
    """[(name, data)] of a stream."""
    found = []
    for block in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


class StreamTest(Case):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def decoder(self):
        self.train("--steps", "3")
        return self.run_directory

    def pieces_and_result(self, server, path, body, headers=None):
        status, text, found = server.ask("POST", path, body, headers)
        self.assertEqual((status, found["Content-Type"]), (200, "text/event-stream"), text)
        events = events_of(text)
        self.assertEqual([name for name, _ in events[:-1]], ["message"] * (len(events) - 1))
        self.assertEqual(events[-1][0], "result", events[-1])
        return [piece for _, piece in events[:-1]], events[-1][1]

    def test_search(self):
        (self.folder / "texts.jsonl").write_text('{"id": "a", "title": "Looms", "text": "A loom weaves."}\n{"id": "b", "text": "Rates rose."}\n')
        store = self.folder / "notes.weft"
        made = weft_json("index", store, self.folder / "texts.jsonl", "--model", make_model(self.folder / "model", "bert", "none"))
        server = self.serve("--index", f"notes={store}")
        (listed,) = server.ask("GET", "/v1/models")[1]["data"]
        self.assertEqual((listed["id"], listed["kind"], listed["tasks"]), ("notes", "store", ["search"]))
        status, found, _ = server.ask("POST", "/search", {"query": "looms weaves", "by": "words"})
        self.assertEqual((status, found["by"], [passage["id"] for passage in found["passages"]]), (200, "words", ["a"]))
        self.assertEqual(found["passages"][0]["title"], "Looms")
        for path, body in (("/search", {"query": "loom"}), ("/v1/models/notes/search", {"query": "loom", "by": "vectors", "top_k": 2})):
            status, found, _ = server.ask("POST", path, body)
            self.assertEqual((status, found["by"], len(found["passages"])), (200, body.get("by", "both"), made["vectors"]))
        for body in ({"query": ""}, {"query": "x", "by": "force"}, {"query": "x", "top_k": 0}, {"query": "x", "depth": 3}, {"query": "x " * 1100, "by": "words"}):
            status, answer, _ = server.ask("POST", "/search", body)
            self.assertEqual((status, answer["error"].count("\n")), (400, 0), answer)
        self.assertEqual(server.stop()[0], 0)

    def test_generate(self):
        model = self.decoder()
        server = self.serve(f"books={model}")
        (listed,) = server.ask("GET", "/v1/models")[1]["data"]
        self.assertEqual((listed["id"], listed["kind"], listed["tasks"]), ("books", "decoder", ["generate"]))
        prompt = "graph token"
        for flags, parameters in (({"--max-new-tokens": 40, "--seed": 3}, {"max_new_tokens": 40, "seed": 3}),
                                  ({"--max-new-tokens": 9, "--temperature": 0, "--stop-strings": "e"}, {"max_new_tokens": 9, "temperature": 0, "stop": ["e"]}),
                                  ({"--max-new-tokens": 8, "--num-beams": 3, "--num-return-sequences": 2},
                                   {"max_new_tokens": 8, "num_beams": 3, "num_return_sequences": 2})):
            command = [word for flag, value in flags.items() for word in (flag, value)]
            wanted = [{"generated_text": line["generated_text"], "finish_reason": line["finish_reason"]}
                      for line in results("generate", model, "--prompt", prompt, *command)]
            status, found, _ = server.ask("POST", "/generate", {"inputs": prompt, "parameters": parameters})
            self.assertEqual((status, found), (200, wanted))
            if "num_beams" in parameters:
                self.assertEqual(server.ask("POST", "/generate", {"inputs": prompt, "parameters": parameters, "stream": True})[0], 400)
                continue
            for body, headers in (({"stream": True}, {}), ({}, EVENTS)):
                pieces, result = self.pieces_and_result(server, "/v1/models/books/generate", {"inputs": prompt, "parameters": parameters, **body}, headers)
                self.assertEqual((result, "".join(piece["text"] for piece in pieces)), (wanted, wanted[0]["generated_text"]))
        several = {"inputs": [prompt, "a"], "parameters": {"max_new_tokens": 5, "return_full_text": True}}
        found = server.ask("POST", "/generate", several)[1]
        self.assertEqual([one[0]["generated_text"].startswith(start) for one, start in zip(found, several["inputs"])], [True, True])
        pieces, result = self.pieces_and_result(server, "/generate", {**several, "stream": True})
        self.assertEqual(result, found)
        for index, start in enumerate(several["inputs"]):
            self.assertEqual(start + "".join(piece["text"] for piece in pieces if piece["index"] == index), found[index][0]["generated_text"])
        for body, part in (({"inputs": ""}, "one byte"), ({"inputs": "a", "parameters": {"max_new_tokens": "5"}}, "max_new_tokens"), ({"inputs": "a", "stream": 1}, "stream"),
                           ({"inputs": "a", "parameters": {"temprature": 1}}, "temprature"), ({"inputs": "a", "parameters": {"num_beams": 4000}}, "num_beams"),
                           ({"inputs": "a", "parameters": {"eos_token_id": [99999]}}, "99999"), ({"inputs": {"text": "a", "text_pair": "b"}}, "string")):
            status, found, _ = server.ask("POST", "/generate", body, EVENTS)
            self.assertEqual((status, found["error_type"]), (400, "validation"), found)
            self.assertIn(part, found["error"])
        self.leaves_in_the_middle(server)
        self.assertEqual(server.stop()[0], 0)
        self.assert_fails(weft("serve", model, "--check-tensors"), 1, "decoder", "--check-tensors")

    def leaves_in_the_middle(self, server):
        """A text that would take hours ends with its reader, whether it came in pieces or not."""
        for stream in (True, False):
            body = json.dumps({"inputs": "a", "parameters": {"max_new_tokens": 10000000}, "stream": stream}).encode()
            with server.connect() as client:
                client.sendall(request("/generate", head=sized(body), body=body))
                while "weft_requests_running 1" not in server.ask("GET", "/metrics")[1]:
                    pass
                if stream:
                    self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n"))
            while "weft_requests_running 0" not in server.ask("GET", "/metrics")[1]:
                pass

    def test_translate(self):
        model = make_marian(self.folder / "marian")
        server = self.serve(model)
        text = '\n\nThe loom said: "A man walks." Hello, world!\n\nA man.  A loom. ' + "Hello. " * 20
        (wanted,) = results("translate", model, "--target-lang", "de", text)
        wanted = wanted["result"][0]["translation_text"]
        body = {"source_lang": "en", "target_lang": "de", "text": text}
        pieces, result = self.pieces_and_result(server, "/translate", {**body, "stream": True})
        self.assertEqual(result, {"source_lang": "en", "target_lang": "de", "translation": wanted})
        self.assertEqual("".join(piece["text"] for piece in pieces), wanted)
        self.assertEqual(pieces[0]["source"], 'The loom said: "A man walks."')
        texts = ["", " \n ", text, "Hello."]
        pieces, result = self.pieces_and_result(server, "/translate", {"q": texts, "source": "en", "target": "de"}, EVENTS)
        self.assertEqual(["".join(piece["text"] for piece in pieces if piece["index"] == i) for i in range(4)], result["translatedText"])
        self.assertEqual(result["translatedText"][2], wanted)
        # Errors before the first piece have their status; HTTP/1.0 has no chunks, and ends a stream by closing.
        self.assertEqual(server.ask("POST", "/translate", {**body, "target_lang": "xx", "stream": True})[0], 400)
        encoded = json.dumps({**body, "stream": True}).encode()
        old = server.send(request("/translate", head=sized(encoded), body=encoded, version=b"HTTP/1.0"))
        head, content = old.split("\r\n\r\n", 1)
        self.assertNotIn("chunked", head)
        self.assertEqual(events_of(content)[-1][1]["translation"], wanted)
        # A stream does not end its connection; a summary comes in pieces, too, and a task without pieces has one event.
        with server.connect() as client:
            client.sendall(request("/translate", head=sized(encoded), body=encoded) + request("/health", method=b"GET", head=b"Connection: close\r\n"))
            self.assertIn('{"status":"ok"}', read_all(client))
        pieces, result = self.pieces_and_result(server, "/summarize", {"inputs": "a man"}, EVENTS)
        self.assertEqual(result, server.ask("POST", "/summarize", {"inputs": "a man"})[1])
        self.assertEqual("".join(piece["text"] for piece in pieces), result[0]["summary_text"])
        texts = ["a man", "hello world"]
        pieces, result = self.pieces_and_result(server, "/summarize", {"inputs": texts, "stream": True})
        self.assertEqual(result, server.ask("POST", "/summarize", {"inputs": texts})[1])
        for index, (one,) in enumerate(result):
            self.assertEqual("".join(piece["text"] for piece in pieces if piece["index"] == index), one["summary_text"])
        words = {"inputs": {"text": "a man", "text_pair": "hello"}, "parameters": {"tgt_lang": "de"}}
        self.assertEqual(self.pieces_and_result(server, "/align", words, EVENTS), ([], server.ask("POST", "/align", words)[1]))
        self.assertEqual(server.stop()[0], 0)

    def test_clients_of_libretranslate(self):
        keys = self.folder / "keys.txt"
        keys.write_text("sesame\n")
        server = self.serve(make_marian(self.folder / "marian"), "--api-key-file", keys)
        (language,) = server.ask("GET", "/languages")[1]
        self.assertEqual((set(language), "de" in language["targets"]), ({"code", "name", "targets"}, True))
        asked = {"q": "a man", "source": language["code"], "target": "de"}
        self.assertEqual(set(server.ask("POST", "/translate", {**asked, "api_key": "sesame", "alternatives": 0})[1]), {"translatedText"})
        self.assertEqual(server.ask("POST", "/translate", asked, {"Authorization": "Bearer sesame"})[0], 200)
        for body, headers in ((asked, {}), ({**asked, "api_key": "Sesame"}, {}), ({**asked, "api_key": ""}, {}), ({**asked, "api_key": 1}, {}), ("{", {}),
                              ({**asked, "api_key": "sesame"}, {"Authorization": "Bearer other"})):
            for path in ("/translate", "/v1/models/marian/translate"):
                self.assertEqual(server.ask("POST", path, body, headers)[0], 401, body)
        self.assertEqual([server.ask("GET", "/translate")[0], server.ask("POST", "/summarize", {"inputs": "a", "api_key": "sesame"})[0]], [401, 401])
        key = {"Authorization": "Bearer sesame"}
        self.assertEqual(server.ask("POST", "/translate", {**asked, "alternatives": 3}, key)[0], 400)
        wanted = server.ask("POST", "/translate", {"q": "a man", "target": "de"}, key)[:2]
        self.assertEqual(server.ask("POST", "/translate", "q=a+man&source=auto&target=de&format=text&alternatives=0&api_key=sesame",
                                    {"Content-Type": "application/x-www-form-urlencoded"})[:2], wanted)
        part = "--x\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na man\r\n--x--\r\n"
        for path, body in (("/translate", part), ("/summarize", "inputs=a+man")):
            status, answer = server.ask("POST", path, body, key)[:2]
            self.assertEqual((status, "is a form" in answer["error"], "application/json" in answer["error"]), (400, True, True))
        status, answer = server.ask("POST", "/translate", {"q": ">>xx<< a man", "target": "de"}, key)[:2]
        self.assertEqual((status, ">>xx<<" in answer["error"], "'de', 'fr'" in answer["error"]), (400, True, True))
        self.assertEqual(server.stop()[0], 0)

    def test_choose_and_restore(self):
        choices = make_model(self.folder / "choices", "bert", "multiple-choice")
        words = make_model(self.folder / "words", "bert", "token-classification", "--labels", "O", "S-Title", "S-.", "S-UPPER?")
        server = self.serve(choices, words)
        self.assertEqual([model["tasks"] for model in server.ask("GET", "/v1/models")[1]["data"]], [["choose", "embed"], ["embed", "restore", "tag"]])
        question = {"prompt": TEXT, "choices": ["hello", "the thread", "we see"]}
        (wanted,) = results("choose", choices, "--prompt", TEXT, *(word for choice in question["choices"] for word in ("--choice", choice)))
        found = server.ask("POST", "/choose", {"inputs": question})[1]
        self.assertEqual([one["choice"] for one in found], [one["choice"] for one in wanted["result"]])
        for one, other in zip(found, wanted["result"]):
            self.assertAlmostEqual(one["score"], other["score"], places=4)
        self.assertEqual(len(server.ask("POST", "/choose", {"inputs": [question, question]})[1]), 2)
        self.assertEqual(len(server.ask("POST", "/v1/models/choices/embed", {"inputs": [TEXT, TEXT]})[1]), 2)
        (wanted,) = results("restore", TEXT, "--model", words)
        self.assertEqual(server.ask("POST", "/restore", {"inputs": TEXT})[1], wanted["result"])
        self.assertEqual(server.ask("POST", "/restore", {"inputs": [TEXT, ""]})[1][0], wanted["result"])
        for path, body in (("/choose", {"inputs": {"prompt": TEXT, "choices": ["one"]}}), ("/choose", {"inputs": {"prompt": TEXT}}),
                           ("/choose", {"inputs": {"prompt": TEXT, "choices": ["a", 1]}}), ("/choose", {"inputs": []}), ("/choose", {"inputs": TEXT}),
                           ("/choose", {"inputs": {"prompt": TEXT, "choices": ["a"] * 65}}), ("/restore", {"inputs": {"text": "a", "text_pair": "b"}}),
                           ("/restore", {"inputs": TEXT, "parameters": {}})):
            self.assertEqual(server.ask("POST", path, body)[0], 400, body)
        self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    unittest.main()
