# SPDX-License-Identifier: Apache-2.0
"""`/openapi.json` of `weft serve`: valid by the specification's own validator, true of every path, and of what requests and answers hold."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from encoder_program import TEXT, make_model  # noqa: E402
from sequence_tasks_test import make_marian  # noqa: E402
from serve_test import Server  # noqa: E402
from weft_program import Case, weft_json  # noqa: E402

try:
    from jsonschema import Draft202012Validator
    from openapi_spec_validator import OpenAPIV31SpecValidator
except ImportError:
    print("skipped: this Python has no openapi-spec-validator (scripts/setup installs it into .venv)")
    sys.exit(0)

ASKED = {"question": "who weaves?", "context": TEXT}
# Requests that are answered with 200, by task.
REQUESTS = {
    "translate": ({"text": "a man", "source_lang": "en", "target_lang": "de"}, {"text": ["a man", "hello"], "target_lang": "de"},
                  {"q": "a man", "source": "auto", "target": "de", "format": "text", "api_key": ""}, {"q": ["a man"], "target": "de"},
                  {"inputs": ["a man"], "parameters": {"tgt_lang": "de"}}),
    "align": ({"inputs": {"text": "a man", "text_pair": "hello world"}, "parameters": {"tgt_lang": "de"}},
              {"inputs": [{"text": "a man", "text_pair": "hello"}, {"text": "", "text_pair": ""}], "parameters": {"tgt_lang": "de"}}),
    "summarize": ({"inputs": "a man"}, {"inputs": "a man", "stream": False}, {"inputs": ["a man", "hello"], "parameters": {"truncation": True}}),
    "classify": ({"inputs": TEXT}, {"inputs": [TEXT, {"text": TEXT, "text_pair": "hello"}], "parameters": {"top_k": 1}}),
    "tag": ({"inputs": TEXT}, {"inputs": [TEXT], "parameters": {"aggregation_strategy": "none", "ignore_labels": []}}),
    "answer": ({"inputs": ASKED}, {"inputs": ASKED, "parameters": {"top_k": 2}}, {"inputs": [ASKED, ASKED], "parameters": {"top_k": 3}}, {"inputs": [ASKED]}),
    "fill-mask": ({"inputs": "the [MASK]"}, {"inputs": ["the [MASK]", "[MASK] [MASK]"], "parameters": {"top_k": 2, "targets": ["loom"]}}),
    "pattern": ({"expression": "window(3)"}, {"expression": "global(input)", "input": [3, 0], "length": 64, "heads": 2, "figures": False}),
    "attention": ({"inputs": TEXT}, {"inputs": {"text": TEXT}, "parameters": {"layers": [1], "top": 2}}),
    "choose": ({"inputs": {"prompt": TEXT, "choices": ["a", "b"]}}, {"inputs": [{"prompt": "", "choices": ["a", "b", "c"]}]}),
    "restore": ({"inputs": TEXT}, {"inputs": [TEXT, ""]}),
    "generate": ({"inputs": "a", "parameters": {"max_new_tokens": 2}}, {"inputs": ["a", "b"], "parameters": {"max_new_tokens": 2, "num_beams": 2, "stop": ["x"]}, "stream": False}),
    "embed": ({"inputs": TEXT}, {"inputs": [TEXT, "hello"], "normalize": False, "truncate": True},
              {"inputs": TEXT, "truncate": None, "truncation_direction": "left", "prompt_name": None, "dimensions": None, "normalize": None}),
    "embed_all": ({"inputs": TEXT}, {"inputs": [TEXT, "hello"], "truncate": True, "truncation_direction": "Right"}),
    "similarity": ({"inputs": {"source_sentence": TEXT, "sentences": ["hello", TEXT]}}, {"inputs": {"source_sentence": "", "sentences": [""]}, "parameters": {"truncate": None}}),
    "predict": ({"inputs": TEXT}, {"inputs": [TEXT, "hello"], "raw_scores": True}, {"inputs": [[TEXT], [TEXT, "hello"]], "truncate": True}),
    "embedding": ({"content": TEXT}, {"content": [TEXT, "hello"]}),
    "embeddings": ({"input": TEXT, "model": "labels"}, {"input": [TEXT, "hello"], "model": "labels", "encoding_format": "base64", "dimensions": 8, "user": "me"}),
    "rerank": ({"query": "who?", "texts": [TEXT, "hello"]}, {"query": "who?", "texts": [TEXT], "raw_scores": True, "return_text": True, "truncate": True},
               {"query": "who?", "documents": [TEXT, {"text": "hello"}], "top_n": 1}),
    "search": ({"query": "who weaves?"}, {"query": "loom", "by": "words", "top_k": 1}),
}
# The same for paths where others of that name take less.
DOCUMENTS = ({"query": "who?", "documents": [TEXT, {"text": "hello"}], "top_n": 1, "return_documents": True, "model": "ranker"}, {"query": "who", "documents": [""], "top_n": None})
# Attention of models that read one text, and of those that read a source and a target.
ONE_TEXT = ({"inputs": TEXT}, {"inputs": TEXT, "parameters": {"layers": [1], "top": 2}})
SOURCE_AND_TARGET = ({"inputs": {"text": "a man", "text_pair": "the loom"}}, {"inputs": {"text": "a", "text_pair": "b"}, "parameters": {"heads": [1]}})
OTHERS = {"/v1/models/run/attention": ONE_TEXT, "/v1/models/marian/attention": SOURCE_AND_TARGET, "/v1/rerank": DOCUMENTS, "/v2/rerank": DOCUMENTS}
# Shapes of other servers, which are read alike for every model.
SHAPES = {"embed_all", "embedding", "similarity", "predict", "embeddings"}
# Requests that are refused, by the schema too.
WRONG = ({}, {"inputs": 1}, {"inputs": []}, {"inputs": TEXT, "inptus": 1}, {"text": [3]}, {"q": {}})
# What somebody may put where something else is wanted. The schema says which of it is right, and the server must agree.
VALUES = (None, True, 0, 0.0, "0", 1, 1.0, 1.5, -1.0, 10**19, 1e300, "", "1", "a", [], ["a"], [1], [1.0], [1.5], ["1"], {}, {"text": "a"}, {"text": "a", "text_pair": "b"})
# An error about what kind of value a member has, and not about what it says, as that of a pattern is.
OF_KIND = r"^(?!pattern: ).*(must be (an? )?(integer|number|string|list|object|true or false|at (least|most))|expected|unknown member|there is no field)"


def variants(body, schema):
    """Bodies in which one member, or one parameter, is something else; the members are those that the schema names."""
    shapes = schema.get("anyOf", [schema])
    for name in sorted({name for shape in shapes for name in shape["properties"]} - {"parameters"}):
        yield from ({**body, name: value} for value in VALUES)
    # One parameter of each kind: those of a kind are read alike.
    kinds = {}
    for shape in shapes:
        for name, one in shape["properties"].get("parameters", {}).get("properties", {}).items():
            kinds[str((one.get("type"), one.get("items"), "enum" in one))] = name
    for name in sorted(kinds.values() if "parameters" in shapes[0]["properties"] or "parameters" in body else ()):
        yield from ({**body, "parameters": {**body.get("parameters", {}), name: value}} for value in VALUES)


def message_of(answer):
    """Of an error in any shape."""
    error = answer.get("detail", answer.get("error"))
    return error["message"] if isinstance(error, dict) else error


class OpenApiTest(Case):
    def serve(self, *arguments):
        server = Server(*arguments)
        self.addCleanup(server.end)
        return server

    def models(self):
        heads = {"labels": "sequence-classification", "reader": "question-answering", "masks": "masked-lm", "more": "masked-lm", "choices": "multiple-choice"}
        words = make_model(self.folder / "words", "bert", "token-classification", "--labels", "O", "S-Title", "S-.", "S-UPPER?")
        self.train("--steps", "1")
        ranker = make_model(self.folder / "ranker", "bert", "sequence-classification", "--labels", "relevant")
        return [self.run_directory, make_marian(self.folder / "marian"), words, ranker,
                *(make_model(self.folder / name, "bert", head) for name, head in heads.items())]

    def test_description(self):
        weft_json("index", self.folder / "notes.weft", self.held_out)
        server = self.serve(*self.models(), "--index", self.folder / "notes.weft")
        status, found, headers = server.ask("GET", "/openapi.json")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        OpenAPIV31SpecValidator(found).validate()
        listed = {f"/v1/models/{model['id']}/{task}" for model in server.ask("GET", "/v1/models")[1]["data"] for task in model["tasks"]}
        self.assertLessEqual(listed, set(found["paths"]))
        for path, methods in found["paths"].items():
            for method, operation in methods.items():
                with self.subTest(path=path, method=method):
                    self.assertTrue(operation["summary"])
                    self.check_operation(server, found, path, method, operation)
        self.checks_are_those_of_the_schemas(server, found["paths"])
        status, answer, _ = server.ask("POST", "/search", {"query": "loom", "by": "vectors"})
        self.assertEqual((status, answer["error"]), (400, "'by' is vectors, and the store 'notes.weft' was served without vectors: expected auto or words"))
        self.assertEqual(server.stop()[0], 0)

    def check_operation(self, server, found, path, method, operation):
        if method == "get":
            status, answer, headers = server.ask("GET", path)
            self.check_answer(found, operation, status, answer, headers)
            self.assertEqual(status, 200)
            return
        asked = operation["requestBody"]["content"]["application/json"]["schema"]
        if "200" not in operation["responses"]:  # several models have the task
            self.assertEqual(server.ask("POST", path, {})[0], 404)
            return
        for body in OTHERS.get(path, REQUESTS[path.rsplit("/", 1)[1]]):
            Draft202012Validator(asked).validate(body)
            status, answer, headers = server.ask("POST", path, body)
            self.assertEqual(status, 200, answer)
            self.check_answer(found, operation, status, answer, headers)
        for body in WRONG:
            self.assertFalse(Draft202012Validator(asked).is_valid(body), body)
            status, answer, headers = server.ask("POST", path, body)
            self.assertEqual(status, 400, body)
            self.check_answer(found, operation, status, answer, headers)

    def check_answer(self, found, operation, status, answer, headers):
        content = operation["responses"][str(status)]["content"]
        self.assertIn(headers["Content-Type"], content)
        schema = {**content[headers["Content-Type"]]["schema"], "components": found["components"]}
        Draft202012Validator(schema).validate(answer)

    def checks_are_those_of_the_schemas(self, server, paths):
        """What a schema refuses is refused, and what it takes is refused for nothing that a schema can say."""
        tried = 0
        for path, methods in paths.items():
            operation = methods.get("post")
            if operation is None or not path.startswith("/v1/") or path.startswith("/v1/models/more/"):
                continue
            if path.rsplit("/", 1)[1] in SHAPES and path.startswith("/v1/models/") and "/labels/" not in path:
                continue
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            validator = Draft202012Validator(schema)
            (base, *_) = OTHERS.get(path, REQUESTS[path.rsplit("/", 1)[1]])
            for body in variants(base, schema):
                status, answer, _ = server.ask("POST", path, body)
                tried += 1
                with self.subTest(path=path, body=body):
                    if not validator.is_valid(body):
                        self.assertEqual(status, 400, answer)
                    elif status == 400:
                        self.assertNotRegex(message_of(answer), OF_KIND)
        self.assertGreater(tried, 500)

    def test_keys(self):
        keys = self.folder / "keys.txt"
        keys.write_text("sesame\n")
        server = self.serve(make_marian(self.folder / "marian"), "--api-key-file", keys)
        self.assertEqual(server.ask("GET", "/openapi.json")[0], 401)
        found = server.ask("GET", "/openapi.json", headers={"Authorization": "Bearer sesame"})[1]
        OpenAPIV31SpecValidator(found).validate()
        for path, methods in found["paths"].items():
            for method, operation in methods.items():
                status = server.ask(method.upper(), path, None if method == "get" else {})[0]
                self.assertEqual(status == 401, "security" in operation, path)
        self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    unittest.main()
