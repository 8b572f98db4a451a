# SPDX-License-Identifier: Apache-2.0
"""The commands of tasks on tiny random encoders: every family, order, batches, lengths, and clear errors. That their results
are those of transformers is shown by tests/tasks/decode_cases_test.cpp and tests/parity/tasks_parity.py."""

import json
import pathlib
import struct
import unittest

from encoder_program import FAMILIES, TEXT, families_with, make_model, read_safetensors, results, spoil
from weft_program import Case, weft, weft_json

MASKS = {"bert": "[MASK]", "roberta": "<mask>", "xlm-roberta": "<mask>", "distilbert": "[MASK]", "modernbert": "[MASK]", "mpnet": "<mask>",
         "electra": "[MASK]", "nomic_bert": "[MASK]", "eurobert": "[MASK]", "esm": "<mask>", "deberta-v2": "[MASK]",
         "longformer": "<mask>", "big_bird": "[MASK]", "nystromformer": "[MASK]", "littlebird": "[MASK]", "etc": "[MASK]",
         "star_transformer": "[MASK]"}
LONG = " ".join(["the loom said hello"] * 40)


class EncoderCase(Case):
    def model(self, head, family="bert", *more):
        directory = self.folder / f"{family}-{head}"
        return directory if directory.exists() else make_model(directory, family, head, *more)


class EveryCommandTest(EncoderCase):
    """What holds for each command that runs a checkpoint."""

    HEADS = {"fill-mask": "masked-lm", "embed": "none", "classify": "sequence-classification", "tag": "token-classification",
             "answer": "question-answering", "choose": "multiple-choice", "rerank": "sequence-classification"}
    # Longer than the (5 + 2) blocks of 4 tokens up to which BigBird is computed in full, also at other sizes of a block.
    LONG_ENOUGH = "the loom said [MASK] hello world we see " + " ".join(["the loom"] * 7)

    def arguments(self, command):
        text = self.LONG_ENOUGH
        texts = {"answer": ("--question", "who?", text), "choose": ("--prompt", text, "--choice", "we", "--choice", "see"),
                 "rerank": ("we see", text)}
        labels = ("--labels", "score") if command in ("classify", "rerank") else ()
        return (command, self.model(self.HEADS[command], "big_bird", *labels), *texts.get(command, (text,)))

    def metadata(self, command, *flags):
        return results(*self.arguments(command), *flags)[0]["metadata"]

    def test_the_released_plan_is_the_default_and_said(self):
        for command in self.HEADS:
            said = self.metadata(command)
            self.assertEqual(said["random"], "released", command)
            self.assertIn("block(4, ", said["attention"], command)
            self.assertNotIn("full_attention", said, command)

    def test_another_pattern_than_the_configs(self):
        for command in self.HEADS:
            self.assertEqual(self.metadata(command, "--attention", "window(4)")["attention"], "window(4)", command)
            self.assertEqual(self.metadata(command, "--attention-type", "original_full")["attention"], "full", command)
            said = self.metadata(command, "--block-size", "2", "--random-blocks", "2", "--random", "uniform")
            self.assertIn("block(2, ", said["attention"], command)
            self.assertIn("random(2", said["attention"], command)

    def test_texts_from_arguments_a_file_and_standard_input(self):
        texts = ["the loom [MASK] .", "we [MASK] hello world"]
        path = self.folder / "texts.txt"
        path.write_text("".join(text + "\n" for text in texts))
        for command in ("fill-mask", "embed", "classify", "tag"):
            model = self.model(self.HEADS[command], "big_bird")
            found = results(command, model, *texts)
            self.assertEqual(len(found), len(texts), command)
            self.assertEqual(results(command, model, "--file", path), found, command)
            self.assertEqual(results(command, model, input=path.read_text()), found, command)
        answer = ("answer", self.model(self.HEADS["answer"], "big_bird"), "--question", "who?")
        self.assertEqual(results(*answer, input=texts[0]), results(*answer, texts[0]))

    def test_weights_that_are_no_numbers_are_refused_on_request(self):
        for command, head in self.HEADS.items():
            arguments = self.arguments(command)
            spoil(self.model(head, "big_bird") / "model.safetensors", "embeddings.LayerNorm.bias", float("inf"))
            self.assert_fails(weft(*arguments, "--check-tensors", "--json"), 1, "model.safetensors", "embeddings.LayerNorm.bias", "NaN or infinity")


class FillMaskTest(EncoderCase):
    def test_every_family(self):
        for family in FAMILIES:
            found = results("fill-mask", self.model("masked-lm", family), f"the loom {MASKS[family]} .", "--top-k", "3")
            self.assertEqual([len(entry["result"]) for entry in found], [3])
            first = found[0]["result"][0]
            self.assertEqual(list(first), ["score", "token", "token_str", "sequence"])
            self.assertGreaterEqual(first["score"], found[0]["result"][1]["score"])
            self.assertIn("attention", found[0]["metadata"])
            self.assertEqual(found[0]["metadata"]["truncated"], 0)

    def test_several_masks_and_targets(self):
        model = self.model("masked-lm")
        (found,) = results("fill-mask", model, "the [MASK] said [MASK]", "--targets", "loom", "we", "--top-k", "9")
        self.assertEqual([len(mask) for mask in found["result"]], [2, 2])
        self.assertEqual({choice["token_str"] for choice in found["result"][0]}, {"loom", "we"})
        self.assertIn("[MASK]", found["result"][0][0]["sequence"])

    def test_texts_in_brackets_stay_what_they_are(self):
        (found,) = results("fill-mask", self.model("masked-lm"), "[MASK], the loom, [MASK]", "--targets", "[PAD]", "we")
        self.assertEqual([len(mask) for mask in found["result"]], [2, 2])
        self.assertEqual({choice["token_str"] for choice in found["result"][0]}, {"[PAD]", "we"})

    def test_a_target_that_is_no_token_is_said(self):
        process = weft("fill-mask", self.model("masked-lm"), "a [MASK]", "--targets", "looms", "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("Weft scores its first token, 'loom'", process.stderr)

    def test_errors(self):
        model = self.model("masked-lm")
        self.assert_fails(weft("fill-mask", model, "a [MASK]", "nothing"), 1, "text 2", "no mask", "[MASK]")
        self.assert_fails(weft("fill-mask", model, ""), 1, "text 1", "no mask")
        classifier = self.model("sequence-classification")
        self.assert_fails(weft("classify", classifier, LONG), 1, "text 1", "tokens", "at most 62", "--truncate")
        self.assert_fails(weft("eval", classifier), 2, "weft eval --task classify needs --data PATH")
        process = weft("fill-mask", model, "[MASK] " + LONG, "--truncate")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("were cut off", process.stderr)


class ClassifyTest(EncoderCase):
    def test_order_batches_and_padding_do_not_matter(self):
        model = self.model("sequence-classification", "bert", "--labels", "bad", "good", "odd")
        path = self.folder / "texts.txt"
        texts = [TEXT, "the", LONG[:120], "", "hello world", "   "]
        path.write_text("\n".join(texts) + "\n")
        together = results("classify", model, "--file", path, "--top-k", "0")
        self.assertEqual(len(together), len(texts))
        for batch in ("1", "2"):
            apart = results("classify", model, "--file", path, "--top-k", "0", "--batch-size", batch)
            for left, right in zip(together, apart):
                self.assertEqual([entry["label"] for entry in left["result"]], [entry["label"] for entry in right["result"]])
                for one, other in zip(left["result"], right["result"]):
                    self.assertAlmostEqual(one["score"], other["score"], places=5)
        self.assertAlmostEqual(sum(entry["score"] for entry in together[0]["result"]), 1, places=6)
        self.assertEqual({entry["label"] for entry in together[0]["result"]}, {"bad", "good", "odd"})

    def test_pairs_and_functions(self):
        model = self.model("sequence-classification")
        (pair,) = results("classify", model, "the loom\twe see", "--pairs", "--function-to-apply", "none")
        (one,) = results("classify", model, "the loom we see", "--function-to-apply", "none")
        self.assertEqual(len(pair["result"]), 1)
        self.assertNotAlmostEqual(pair["result"][0]["score"], one["result"][0]["score"], places=3)
        self.assertEqual(pair["metadata"]["function"], "none")

    def test_a_person_reads_one_line_a_text(self):
        process = weft("classify", self.model("sequence-classification"), TEXT, "the")
        self.assertRegex(process.stdout, r"^LABEL_[01] 0\.\d{4}\nLABEL_[01] 0\.\d{4}\n$")

    def test_a_token_type_that_the_model_lacks(self):
        model = self.model("sequence-classification")
        vocabulary = {word: i for i, word in enumerate((model / "vocab.txt").read_text().splitlines())}
        first = {"id": "[CLS]", "ids": [vocabulary["[CLS]"]], "tokens": ["[CLS]"]}
        rules = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 9}}],
                 "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"[CLS]": first}}
        words = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary}
        (model / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": words, "post_processor": rules}))
        self.assert_fails(weft("classify", model, "the loom"), 1, "text 1: the tokeniser of", "(token_type_ids) 9", "type_vocab_size of its config.json is 2")

    def test_names_of_a_model_steer_no_terminal(self):
        model = self.model("sequence-classification")
        config = json.loads((model / "config.json").read_text())
        config["id2label"] = {"0": "\x1b]0;owned\x07a\x9b2J", "1": "\x1b[31mb\r\x7f"}
        config["label2id"] = {label: int(id) for id, label in config["id2label"].items()}
        (model / "config.json").write_text(json.dumps(config))
        labels = set(config["id2label"].values())
        for command in (("classify", model, TEXT), ("classify", model, TEXT, "--json"), ("info", model), ("info", model, "--json")):
            process = weft(*command)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertNotRegex(process.stdout + process.stderr, "[\x00-\x08\x0b-\x1f\x7f-\x9f]", command)
            self.assertIn(r"\u001b", process.stdout, command)
            if command[-1] == "--json" and command[0] == "classify":
                self.assertIn(json.loads(process.stdout)["result"][0]["label"], labels)

    def test_another_pattern_is_computed_and_said(self):
        model = self.model("sequence-classification")
        (found,) = results("classify", model, TEXT, "--attention", "window(left=2, right=2) | global(1)")
        self.assertIn("window", found["metadata"]["attention"])
        wrong = weft("classify", model, TEXT, "--attention", "windw(2)")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("unknown name 'windw'", wrong.stderr)

    def test_wrong_heads_and_directories(self):
        model = self.model("sequence-classification")
        self.assert_fails(weft("tag", model, TEXT), 1, "needs the head token-classification", "sequence-classification")
        self.assert_fails(weft("classify", self.folder / "absent", TEXT), 1, "absent")
        (model / "vocab.txt").unlink()
        self.assert_fails(weft("classify", model, TEXT), 1, "vocab.txt", "none")


class TagTest(EncoderCase):
    LABELS = ("--labels", "O", "B-PER", "I-PER")

    def test_strategies(self):
        model = self.model("token-classification", "bert", *self.LABELS)
        (tokens,) = results("tag", model, TEXT, "--ignore-labels", "none")
        self.assertEqual(len(tokens["result"]), tokens["metadata"]["tokens"] - 2)
        for entity in tokens["result"]:
            self.assertEqual((entity["start"], entity["end"]), (entity["byte_start"], entity["byte_end"]))
        for strategy in ("simple", "first", "average", "max"):
            (found,) = results("tag", model, TEXT, "--aggregation-strategy", strategy)
            self.assertTrue(all(set(entity) >= {"entity_group", "score", "word", "start", "end"} for entity in found["result"]))
            self.assertTrue(all(entity["entity_group"] != "O" for entity in found["result"]))

    def test_long_texts_are_read_in_windows_and_said(self):
        for family in ("bert", "longformer"):
            model = self.model("token-classification", family, *self.LABELS)
            process = weft("tag", model, LONG)
            self.assertIn("windows", process.stderr)
            (found,) = results("tag", model, LONG, "--ignore-labels", "none")
            self.assertGreater(found["metadata"]["windows"], 2)
            places = [(entity["start"], entity["end"]) for entity in found["result"]]
            self.assertEqual(places, sorted(places), "in order")
            self.assertEqual(len(places), found["metadata"]["tokens"] - 2, "each token once")

    def test_replaced_tokens_have_two_labels(self):
        model = self.model("replaced-tokens", "electra")
        for bias, label, other in ((30, "replaced", "original"), (-30, "original", "replaced")):
            spoil(model / "model.safetensors", "discriminator_predictions.dense_prediction.bias", bias)
            (tokens,) = results("tag", model, TEXT, "--ignore-labels", other)
            self.assertEqual(len(tokens["result"]), tokens["metadata"]["tokens"] - 2, "each token")
            self.assertEqual({entity["entity"] for entity in tokens["result"]}, {label})
            self.assertTrue(all(entity["score"] > 0.9 for entity in tokens["result"]))
            self.assertEqual(results("tag", model, TEXT, "--ignore-labels", label)[0]["result"], [])
        self.assert_fails(weft("classify", model, TEXT), 1, "the head replaced-tokens", "ElectraForPreTraining")

    def test_empty(self):
        (found,) = results("tag", self.model("token-classification"), "")
        self.assertEqual(found["result"], [])


class AnswerTest(EncoderCase):
    def test_places_are_those_of_the_document(self):
        path = self.folder / "story.txt"
        path.write_bytes("é the loom\nsaid 中 hello world".encode())
        text = path.read_text(encoding="utf-8")
        for family in families_with("question-answering"):
            (found,) = results("answer", self.model("question-answering", family), "--question", "we see?", "--file", path)
            answer = found["result"]
            self.assertEqual(answer["answer"], text[answer["start"]:answer["end"]])
            self.assertEqual(answer["answer"], text.encode()[answer["byte_start"]:answer["byte_end"]].decode())
            self.assertEqual(found["metadata"]["windows"], 1)
            self.assertEqual(set(found["metadata"]["no_answer"]), {"score", "logit"})

    def test_long_documents_are_read_in_windows_and_said(self):
        path = self.folder / "long.txt"
        path.write_text(LONG)
        model = self.model("question-answering")
        (found,) = results("answer", model, "--question", "who?", "--file", path, "--top-k", "5", "--stride", "8")
        self.assertGreater(found["metadata"]["windows"], 3)
        self.assertEqual(len(found["result"]), 5)
        spans = [(answer["start"], answer["end"]) for answer in found["result"]]
        self.assertEqual(len(set(spans)), 5)
        self.assertTrue(all(LONG[answer["start"]:answer["end"]] == answer["answer"] for answer in found["result"]))
        self.assertIn("windows", weft("answer", model, "--question", "who?", "--file", path).stderr)

    def test_no_answer(self):
        model = self.model("question-answering")
        arguments = ("answer", model, "--question", "who?", TEXT, "--handle-impossible-answer")
        (never,) = results(*arguments, "--null-threshold", "1000000")
        (always,) = results(*arguments, "--null-threshold=-1000000")
        self.assertNotEqual(never["result"]["answer"], "")
        self.assertEqual((always["result"]["answer"], always["result"]["start"], always["result"]["end"]), ("", 0, 0))
        self.assertTrue(weft(*arguments, "--null-threshold=-1000000").stdout.startswith("no answer"))
        self.assert_fails(weft(*arguments[:-1], "--null-threshold", "5"), 2, "--null-threshold is for --handle-impossible-answer")

    def test_errors(self):
        model = self.model("question-answering")
        empty = self.folder / "empty.txt"
        empty.write_bytes(b" \n ")
        self.assert_fails(weft("answer", model, TEXT), 2, "--question")
        self.assert_fails(weft("answer", model, "--question", "who?", "--file", empty), 1, "empty.txt", "no token")
        self.assert_fails(weft("answer", model, "--question", "who?", input=""), 1, "no text was given: standard input is empty")
        self.assert_fails(weft("answer", model, "--question", " ", TEXT), 1, "text 1", "the question is empty")
        self.assert_fails(weft("answer", model, "--question", "who?", "--file", self.folder / "absent"), 1, "absent")
        self.assert_fails(weft("answer", model, "--question", LONG, TEXT), 1, "text 1", "room")


class ChooseTest(EncoderCase):
    def test_choices_from_flags_and_lines(self):
        model = self.model("multiple-choice")
        (found,) = results("choose", model, "--prompt", "the loom", "--choice", "said hello", "--choice", "we", "--choice", "see it")
        self.assertEqual({choice["index"] for choice in found["result"]}, {0, 1, 2})
        self.assertAlmostEqual(sum(choice["score"] for choice in found["result"]), 1, places=6)
        line = '{"prompt": "the loom", "choices": ["said hello", "we", "see it"]}\n'
        (again,) = results("choose", model, "--file", "-", input=line)
        self.assertEqual(again["result"], found["result"])

    def test_errors(self):
        model = self.model("multiple-choice")
        self.assert_fails(weft("choose", model, "--prompt", "a", "--choice", "b"), 1, "two choices")
        self.assert_fails(weft("choose", model, "--prompt", "a"), 2, "--choice")
        self.assert_fails(weft("choose", model, "--file", "-", input="{}\n"), 1, "line 1", "prompt")
        self.assert_fails(weft("choose", model, "--file", "-", input="no\n"), 1, "line 1")


class RerankTest(EncoderCase):
    """The library's scores are in tests/fixtures and tests/parity; here the command."""

    TEXTS = ["the loom said hello", "we", "she said it, and we see"]

    def cross_encoder(self):
        return self.model("sequence-classification", "bert", "--labels", "score")

    def test_texts_from_arguments_lines_records_and_queries(self):
        model = self.cross_encoder()
        (found,) = results("rerank", model, "we see", *self.TEXTS)
        self.assertEqual({entry["index"] for entry in found["result"]}, {0, 1, 2})
        scores = [entry["score"] for entry in found["result"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual((found["metadata"]["tokens"], found["metadata"]["windows"], found["metadata"]["activation"]), ([9, 6, 12], [1, 1, 1], "Sigmoid"))
        self.assertEqual(results("rerank", model, "we see", input="\n".join(self.TEXTS) + "\n"), [found])
        records = self.folder / "passages.jsonl"
        records.write_text("".join(json.dumps({"id": f"p{place}", "passage": text}) + "\n" for place, text in enumerate(self.TEXTS)))
        from_records = ("rerank", model, "we see", "--file", records, "--text-field", "passage")
        (named,) = results(*from_records, "--return-text", "--top-k", "2")
        best = found["result"][0]["index"]
        self.assertEqual(len(named["result"]), 2)
        self.assertEqual(named["result"][0], {**found["result"][0], "text": self.TEXTS[best], "fields": {"id": f"p{best}"}})
        out = self.folder / "ranked.jsonl"
        self.assertEqual(weft(*from_records, "--out", out).returncode, 0)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual([(row["id"], row["predicted_rank"]) for row in rows], [(f"p{entry['index']}", rank + 1) for rank, entry in enumerate(found["result"])])
        queries = self.folder / "queries.json"
        queries.write_text(json.dumps([{"qid": 7, "query": "we see", "texts": self.TEXTS}, {"query": "we see", "documents": self.TEXTS[:1]}]))
        several = results("rerank", model, "--queries", queries)
        self.assertEqual(several[0], {**found, "fields": {"qid": 7}})
        self.assertEqual([entry["index"] for entry in several[1]["result"]], [0])
        lines = weft("rerank", model, "we see", *self.TEXTS, "--raw-scores", "--top-k", "1").stdout
        self.assertRegex(lines, rf"^-?\d+\.\d+  {best}  {self.TEXTS[best]}\n$")

    def test_long_texts_and_records_that_fail(self):
        model = self.cross_encoder()
        self.assert_fails(weft("rerank", model, "we see", "the", LONG), 1, "text 2", "tokens", "at most 62", "--windows")
        (windows,) = results("rerank", model, "we see", "the", LONG, "--windows")
        self.assertGreater(windows["metadata"]["windows"][1], 2)
        process = weft("rerank", model, "we see", "the", LONG, "--truncate", "--json")
        self.assertGreater(json.loads(process.stdout)["metadata"]["truncated"][1], 0)
        process = weft("rerank", model, "we see", "the", LONG, "we", "--on-error", "skip", "--json")
        self.assertEqual(process.returncode, 1)
        skipped = json.loads(process.stdout)
        self.assertEqual(sorted(entry["index"] for entry in skipped["result"]), [0, 2])
        self.assertEqual([error["index"] for error in skipped["errors"]], [1])

    def test_mistakes(self):
        model = self.cross_encoder()
        self.assert_fails(weft("rerank", model), 2, "needs a query")
        self.assert_fails(weft("rerank", model, "we", "--queries", "q.json"), 2, "--queries")
        self.assert_fails(weft("rerank", model, "we", "the", "--windows", "--truncate"), 2, "--windows and --truncate")
        self.assert_fails(weft("rerank", model, "--queries", "-", input='{"query": "we", "texts": []}\n'), 1, "line 1", "texts")
        self.assert_fails(weft("rerank", self.model("none"), "we", "the"), 1, "cross-encoder", "no head", "weft embed")
        self.assert_fails(weft("rerank", self.model("sequence-classification", "roberta"), "we", "the"), 1, "2 labels", "weft classify --pairs")
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**config, "sentence_transformers": {"activation_fn": "mine.Squash"}}))
        self.assert_fails(weft("rerank", model, "we", "the", "--on-error", "skip"), 1, "activation_fn", "mine.Squash", "Sigmoid", "--raw-scores")
        self.assertIn("reranks", weft("info", model).stdout)
        # What the library writes about the whole directory comes first, its longest text too.
        for name, content in (("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]),
                              ("sentence_bert_config.json", {"max_seq_length": 8}),
                              ("config_sentence_transformers.json", {"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity"})):
            (model / name).write_text(json.dumps(content))
        self.assert_fails(weft("rerank", model, "we", "the loom said hello to the world"), 1, "text 1", "at most 8")
        self.assertEqual(results("rerank", model, "we", "the loom")[0]["metadata"]["activation"], "Identity")

    def test_a_model_for_longer_texts_keeps_what_makes_its_scores(self):
        model, longer = make_model(self.folder / "short", "roberta", "sequence-classification", "--labels", "score"), self.folder / "longer"
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**config, "sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"}))
        process = weft("convert", model, "--to", "longformer", "--length", "128", "--out", longer)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(json.loads((longer / "config.json").read_text())["sentence_transformers"], {"activation_fn": "torch.nn.modules.activation.Tanh"})


class EmbedTest(EncoderCase):
    def test_chunks_as_lines_and_in_a_file(self):
        model = self.model("none")
        text = "the loom said hello. We see the thread! " + LONG
        process = weft("embed", model, text, "--chunks", "sentences")
        self.assertRegex(process.stdout.splitlines()[0], r"^0-20  5 tokens, 32 numbers: -?\d\.\d{4} ")
        self.assertIn("windows", process.stderr)
        found = [entry["result"] for entry in results("embed", model, text, "we", "--chunks", "sentences")]
        self.assertEqual([chunk["text"] for chunk in found[0][:2]], ["the loom said hello.", "We see the thread!"])
        path = self.folder / "chunks.safetensors"
        self.assertEqual(weft("embed", model, text, "we", "--chunks", "sentences", "--out", path).returncode, 0)
        tensors, metadata = read_safetensors(path)
        chunks = [*found[0], *found[1]]
        self.assertEqual(tensors["embeddings"], ([len(chunks), 32], struct.pack(f"<{32 * len(chunks)}f", *[value for chunk in chunks for value in chunk["embedding"]])))
        self.assertEqual(tensors["text"][1], struct.pack(f"<{len(chunks)}q", *[0] * len(found[0]), 1))
        self.assertEqual(tensors["byte_end"][1], struct.pack(f"<{len(chunks)}q", *[chunk["byte_end"] for chunk in chunks]))
        self.assertEqual(metadata["chunks"], "sentences")
        self.assert_fails(weft("embed", model, "we", "--chunks", "0"), 2, "--chunks", "sentences")
        self.assert_fails(weft("embed", model, "we", "--chunks", "4", "--out", "x.npy"), 2, ".safetensors")
        self.assert_fails(weft("embed", model, "we", "--chunks", "4", "--pooling", "cls"), 1, "first token", "--pooling mean")

    def test_files_and_lines_agree(self):
        model = self.model("masked-lm")
        texts = [TEXT, "the", "hello world"]
        lines = [entry["result"] for entry in results("embed", model, *texts, "--normalize")]
        self.assertAlmostEqual(sum(value * value for value in lines[0]), 1, places=5)
        npy, tensors = self.folder / "v.npy", self.folder / "v.safetensors"
        for path in (npy, tensors):
            process = weft("embed", model, *texts, "--normalize", "--out", path)
            self.assertEqual((process.returncode, process.stdout), (0, ""), process.stderr)
        flat = struct.pack("<96f", *[value for line in lines for value in line])
        self.assertTrue(npy.read_bytes().endswith(flat))
        found, metadata = read_safetensors(tensors)
        self.assertEqual(found["embeddings"], ([3, 32], flat))
        self.assertEqual(metadata["pooling"], "mean")

    def test_cls_differs_and_mistakes(self):
        model = self.model("none", "big_bird")
        (mean,), (cls,) = (results("embed", model, TEXT, "--pooling", kind) for kind in ("mean", "cls"))
        self.assertNotEqual(mean["result"], cls["result"])
        said = weft("embed", model, TEXT, "the").stdout.splitlines()
        self.assertEqual(len(said), 2)
        numbers, length = mean["result"], sum(value * value for value in mean["result"]) ** 0.5
        self.assertEqual(said[0], f"{len(numbers)} numbers of length {length:.4f}: " + " ".join(f"{value:.4f}" for value in numbers[:6]) + " ...")
        self.assert_fails(weft("embed", model, TEXT, "--out", "x.txt"), 2, ".npy")
        self.assertFalse(pathlib.Path("x.txt").exists())

    def sentence_directory(self):
        """A bert with two poolings and a norm, a prompt and limits, as sentence-transformers 2 wrote them; a Normalize has no folder."""
        model = self.model("none", "bert")
        kinds = ("Transformer", "Pooling", "Normalize")
        (model / "1_Pooling").mkdir()
        for name, content in (("modules.json", [{"idx": idx, "name": str(idx), "path": f"{idx}_{kind}" if idx else "", "type": f"sentence_transformers.models.{kind}"}
                                                for idx, kind in enumerate(kinds)]),
                              ("1_Pooling/config.json", {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}),
                              ("sentence_bert_config.json", {"max_seq_length": 20, "do_lower_case": True}),
                              ("config_sentence_transformers.json", {"prompts": {"query": "we see "}})):
            (model / name).write_text(json.dumps(content))
        return model

    def test_a_directory_of_sentence_transformers_is_followed_and_kept(self):
        model = self.sentence_directory()
        (found,) = results("embed", model, "the loom")
        self.assertAlmostEqual(sum(value * value for value in found["result"]), 1, places=5)
        self.assertEqual(found["metadata"]["embedding"], {"pooling": ["cls", "mean"], "normalized": True, "modules": "Normalize", "dimensions": 64, "max_length": 20})
        out = self.folder / "v.safetensors"
        process = weft("embed", model, "the loom", "--pooling", "max", "--no-normalize", "--dimensions", "8", "--prompt-name", "query", "--out", out)
        self.assertEqual((process.returncode, process.stderr), (0, "max pooling, the prompt 'we see ': 8 numbers a text; at most 20 tokens at once\n"))
        tensors, metadata = read_safetensors(out)
        self.assertEqual(tensors["embeddings"][0], [1, 8])
        self.assertEqual((metadata["pooling"], metadata["normalize"], metadata["prompt"]), ("max", "false", "we see "))
        self.assert_fails(weft("embed", model, "a", "--pooling", "mean,median"), 2, "--pooling", "'median'")
        self.assert_fails(weft("embed", model, "a", "--dimensions", "65"), 1, "dimensions must be 1 to 64", "found 65")
        said = weft_json("info", model)["sentence_transformers"]
        self.assertEqual((said["modules"], said["max_length"], said["prompts"]), ("Transformer, cls, mean pooling, Normalize", 20, {"query": "we see "}))
        long = self.folder / "long"
        weft_json("convert", model, "--to", "longformer", "--length", "128", "--attention-window", "8", "--out", long)
        self.assertEqual(weft_json("info", long)["sentence_transformers"], {**said, "max_length": 128})
        weft_json("average", model, model, "--out", self.folder / "mean")
        self.assertEqual(results("embed", self.folder / "mean", "the loom")[0]["metadata"], found["metadata"])


if __name__ == "__main__":
    unittest.main()
