# SPDX-License-Identifier: Apache-2.0
"""`weft translate`, `weft summarize` and `weft align` on a tiny Marian with random weights: results, white space, languages, links, and what does not fit."""

import json
import pathlib
import random
import shutil
import struct
import unittest

from encoder_program import FIXTURES, results
from weft_program import Case, environment, weft

TEXT = "The loom weaves the thread. Hello, world!\n\n\tA man walks over the bridge.\n"
WIDTH, INNER, POSITIONS = 8, 16, 64
SOURCES = ["the loom weaves the thread", "", "a man , a man .", "hello", "no translation", " \t"]
TARGETS = ["der Webstuhl webt den Faden", "nichts", "ein Mann", "hallo Welt", "", "  "]


def projections(prefix, names, rows=WIDTH, columns=WIDTH):
    return {f"{prefix}.{name}.{part}": [rows, columns] if part == "weight" else [rows] for name in names for part in ("weight", "bias")}


def layer(prefix, crosses):
    attentions = ["self_attn", "encoder_attn"] if crosses else ["self_attn"]
    shapes = {}
    for attention in attentions:
        shapes |= projections(f"{prefix}.{attention}", ["q_proj", "k_proj", "v_proj", "out_proj"])
    norms = [f"{attention}_layer_norm" for attention in attentions] + ["final_layer_norm"]
    shapes |= {f"{prefix}.{norm}.{part}": [WIDTH] for norm in norms for part in ("weight", "bias")}
    return shapes | projections(prefix, ["fc1"], INNER, WIDTH) | projections(prefix, ["fc2"], WIDTH, INNER)


def write_floats(path, shapes, seed):
    """float32 tensors; those of norms are 1 and 0, so that nothing vanishes."""
    chosen, header, data = random.Random(seed), {}, b""
    for name, shape in sorted(shapes.items()):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0 if name.endswith("norm.weight") else 0.0 if name.endswith("bias") else chosen.gauss(0, 0.7) for _ in range(count)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += struct.pack(f"<{count}f", *values)
    text = json.dumps({**header, "__metadata__": {"format": "pt"}}).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def make_marian(directory, tokenizer="marian-codes", **settings):
    """One layer each, with the tokeniser of the fixtures; `settings` go over those of its generation_config.json."""
    directory = pathlib.Path(directory)
    directory.mkdir()
    for file in (FIXTURES / "pairs" / tokenizer).iterdir():
        if file.name != "cases.json":
            shutil.copy(file, directory / file.name)
    vocabulary = json.loads((directory / "vocab.json").read_text())
    tokens, pad = len(vocabulary) + 1, vocabulary["<pad>"]  # and <eop>, which the settings of the tokeniser add
    shapes = {"model.shared.weight": [tokens, WIDTH], "final_logits_bias": [1, tokens]}
    shapes |= layer("model.encoder.layers.0", False) | layer("model.decoder.layers.0", True)
    write_floats(directory / "model.safetensors", shapes, 7)
    special = {"pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad}
    half = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", INNER))}
    (directory / "config.json").write_text(json.dumps(
        {"model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": tokens, "d_model": WIDTH, **half, "max_position_embeddings": POSITIONS,
         "activation_function": "swish", "scale_embedding": True, "is_encoder_decoder": True, **special}))
    (directory / "generation_config.json").write_text(json.dumps(
        {"num_beams": 2, "max_length": 12, "bad_words_ids": [[pad]], "forced_eos_token_id": 0, "renormalize_logits": True, **special} | settings))
    return directory


def links_of(line):
    return {tuple(int(word) for word in link.split("-")) for link in line.split()}


class SequenceTasksTest(Case):
    def setUp(self):
        super().setUp()
        self.model = make_marian(self.folder / "marian")

    def translate(self, *arguments, **keywords):
        return results("translate", self.model, "--target-lang", "de", *arguments, **keywords)

    def test_results(self):
        (found,) = self.translate(TEXT)
        (result,) = found["result"]
        self.assertEqual([sentence["source"] for sentence in result["sentences"]],
                         ["The loom weaves the thread.", "Hello, world!", "A man walks over the bridge."])
        self.assertEqual([(sentence["start"], sentence["end"]) for sentence in result["sentences"]], [(0, 27), (28, 41), (44, 72)])
        first, second, third = (sentence["translation"] for sentence in result["sentences"])
        self.assertEqual(result["translation_text"], f"{first} {second}\n\n\t{third}\n")
        self.assertEqual(found["metadata"]["sentences"], 3)
        self.assertEqual(found["metadata"]["dtype"], "float32")
        (several,) = self.translate(TEXT, "--num-return-sequences", "2")
        self.assertEqual(len(several["result"]), 2)
        self.assertEqual(several["result"][0], result)
        (nothing,) = self.translate(" ", "--num-return-sequences", "2")  # as many lines as of any other text
        self.assertEqual([each["translation_text"] for each in nothing["result"]], [" ", " "])

    def test_files_and_documents(self):
        path = self.folder / "text.txt"
        path.write_text(TEXT, encoding="utf-8")
        lines = weft("translate", self.model, "--target-lang", "de", "--file", path)
        self.assertEqual(lines.returncode, 0, lines.stderr)
        self.assertEqual([bool(line) for line in lines.stdout.splitlines()], [bool(line) for line in TEXT.splitlines()])
        (whole,) = self.translate("--document", "--file", path)
        self.assertEqual(whole["result"][0]["translation_text"], self.translate(TEXT)[0]["result"][0]["translation_text"])
        printed = weft("translate", self.model, "--target-lang", "de", "--document", "--file", path).stdout
        self.assertEqual(printed, whole["result"][0]["translation_text"])  # which ends in the line end of the file
        alone = weft("translate", self.model, "--target-lang", "de", "--file", path, "--batch-size", "1")
        self.assertEqual(alone.stdout, lines.stdout)
        for more, words in ((("--document", "--format", "csv"), "--format"), (("--out", "a.txt"), ".jsonl"),
                            (("--out", self.folder / "a.csv", "--num-return-sequences", "2"), "num_return_sequences is 2")):
            self.assert_fails(weft("translate", self.model, "--target-lang", "de", "--file", path, *more), 2, words)
        table = self.folder / "twice.csv"
        table.write_text("text,a,a\na man,1,2\n")
        given = ("translate", self.model, "--target-lang", "de", "--file", table)
        self.assertEqual(weft(*given).returncode, 0)
        self.assert_fails(weft(*given, "--json"), 1, "twice.csv", "two columns", "'a'")

    def test_models_that_write_together(self):
        other = make_marian(self.folder / "other")
        alone = self.translate(TEXT)[0]["result"]
        for mean in ("probabilities", "logarithms"):  # of equal models each is that of one
            together = self.translate(TEXT, "--with", other, "--mean", mean, "--model-weights", "2", "0.5")[0]["result"]
            self.assertEqual([one["translation_text"] for one in together], [one["translation_text"] for one in alone])
        given = ("translate", self.model, "--target-lang", "de", "a man")
        self.assert_fails(weft(*given, "--model-weights", "1"), 2, "--with")
        self.assert_fails(weft(*given, "--mean", "logarithms"), 2, "--with")
        self.assert_fails(weft(*given, "--with", other, "--model-weights", "1"), 2, "--model-weights: expected 2 numbers", "found 1")
        for weights, words in ((("1", "x"), "'x'"), (("1", "nan"), "'nan'"), (("1", "-1"), "'-1'"), (("0", "0"), "above 0")):
            self.assert_fails(weft(*given, "--with", other, "--model-weights", *weights), 2, "--model-weights", words)
        vocabulary = json.loads((other / "vocab.json").read_text())
        first, second = list(vocabulary)[5:7]
        vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
        (other / "vocab.json").write_text(json.dumps(vocabulary))
        self.assert_fails(weft(*given, "--with", other), 1, "one vocabulary", "token 5")
        trees = self.folder / "labels.trees"
        trees.write_text("(S (NP XX )NP )S\n", encoding="utf-8")
        self.assert_fails(weft(*given, "--tree-labels", trees), 1, "cannot write a tree")
        trees.write_text("(S (NP XX )S )NP\n", encoding="utf-8")
        self.assert_fails(weft(*given, "--tree-labels", trees), 1, "labels.trees", "line 1")
        trees.write_text("\n", encoding="utf-8")
        self.assert_fails(weft(*given, "--tree-labels", trees), 1, "labels.trees", "no tree")

    def test_languages(self):
        self.assert_fails(weft("translate", self.model, "a man"), 1, "--target-lang", "'de', 'fr'")
        self.assert_fails(weft("translate", self.model, "a man", "--target-lang", "xx"), 1, "'xx'", "'de', 'fr'")
        own, given = results("translate", self.model, ">>fr<< a man")[0], results("translate", self.model, "--target-lang", "fr", "a man")[0]
        self.assertEqual(own["result"][0]["translation_text"].strip(), given["result"][0]["translation_text"])

    def test_what_is_too_long(self):
        long = "a man " * 200
        found = weft("translate", self.model, "--target-lang", "de", long)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("1 of 1 sentences", found.stderr)
        self.assertGreater(self.translate(long)[0]["result"][0]["sentences"][0]["parts"], 1)
        self.assert_fails(weft("translate", self.model, "--target-lang", "de", "--no-split-sentences", long), 1, "more than the 64 tokens")
        self.assert_fails(weft("translate", self.model, "--target-lang", "de", "--max-source-length", "65", "a"), 1, "at most 64", "--max-source-length")
        self.assert_fails(weft("summarize", self.model, long), 1, "at most 64")
        (cut,) = results("summarize", self.model, "--truncate", long)
        self.assertGreater(cut["metadata"]["truncated"], 0)
        self.assertEqual(list(cut["result"][0]), ["summary_text"])

    def test_settings(self):
        settings = json.loads(weft("translate", self.model, "--print-settings", "--num-beams", "3").stdout)
        self.assertEqual((settings["num_beams"], settings["max_length"]), (3, 12))
        path = self.model / "generation_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"max_length": None}))
        self.assertEqual(json.loads(weft("translate", self.model, "--print-settings").stdout)["max_length"], POSITIONS)

    def test_settings_that_the_model_cannot_follow(self):
        path = self.model / "generation_config.json"
        written = json.loads(path.read_text())
        tokens = json.loads((self.model / "config.json").read_text())["vocab_size"]
        given = ("translate", self.model, "--target-lang", "de", "a man")
        for command in (given, ("summarize", self.model, "a man"), ("generate", self.model, "--input", "none", "--output", "none")):
            self.assert_fails(weft(*command, "--bad-words-ids", "3", f"4,{tokens}"), 2, "--bad-words-ids", f"token {tokens}", f"{tokens} tokens")
        for name, value in (("eos_token_id", tokens), ("forced_bos_token_id", 10**6), ("decoder_start_token_id", tokens), ("max_length", 1)):
            path.write_text(json.dumps(written | {name: value}))
            self.assert_fails(weft(*given), 1, "generation_config.json", name, str(value))

    def test_lengths_that_follow_the_source(self):
        path = self.model / "generation_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"max_length": POSITIONS, "max_new_tokens_per_source": "0:3", "bad_words_ids": None}))
        arguments = ("translate", self.model, "--target-lang", "de", "a man")
        self.assertEqual(json.loads(weft(*arguments, "--print-settings").stdout)["max_new_tokens_per_source"], "0:3")
        self.assertEqual(json.loads(weft(*arguments, "--print-settings", "--max-length", "9").stdout)["max_new_tokens_per_source"], "")
        limited, same = results(*arguments), results(*arguments, "--max-new-tokens", "3")
        self.assertEqual(limited, same)
        self.assertNotEqual(limited, results(*arguments, "--max-new-tokens", "9"))
        self.assert_fails(weft(*arguments, "--max-new-tokens-per-source", "2"), 2, "--max-new-tokens-per-source", "2:16")

    def test_each_result_is_one_line(self):
        text = "a man\n\nwalks"
        arguments = ("translate", self.model, "--target-lang", "de")
        alone = weft(*arguments, text, env=environment(HF_HUB_DISABLE_PROGRESS_BARS="1"))
        self.assertEqual(alone.stdout.count("\n"), 3, alone.stdout)
        self.assertEqual(alone.stderr, "")
        several = weft(*arguments, text, text)
        self.assertEqual(several.stdout.splitlines(), [" ".join(alone.stdout[:-1].split("\n\n"))] * 2)
        self.assertEqual(several.stderr.count("--json and --out keep them"), 1)

    def test_directories_that_do_not_fit(self):
        wide = self.folder / "wide"
        shape = ("--d-model", "8", "--encoder-layers", "1", "--decoder-layers", "1", "--encoder-attention-heads", "2", "--decoder-attention-heads", "2",
                 "--encoder-ffn-dim", "8", "--decoder-ffn-dim", "8", "--vocab-size", "300")
        self.assertEqual(weft("init", "--family", "pegasus", "--tokenizer", FIXTURES / "pairs/pegasus", *shape, "--out", wide).returncode, 0)
        self.assert_fails(weft("summarize", wide, "--sequence-bias", "299:1000", "--max-length", "4", "a man"), 1, "wide", "299", "two models")
        (self.model / "vocab.json").write_text(json.dumps({"</s>": 0, "<unk>": 1, "<pad>": 2}))
        self.assert_fails(weft("translate", self.model, "a man"), 1, "vocab.json", "two models")
        (self.model / "target.spm").unlink()
        self.assert_fails(weft("translate", self.model, "a man"), 1, "target.spm")


class ExtractTest(Case):
    def test_sentences_are_taken_without_a_model(self):
        papers = self.folder / "papers.jsonl"
        papers.write_text(json.dumps({"text": "One two.\nThree four five.\nSix.", "summary": "three four six"}) + "\n")
        process = weft("summarize", "--method", "oracle", "--reference-field", "summary", "--file", papers, "--json")
        found = json.loads(process.stdout)
        self.assertEqual(found["result"], [{"summary_text": "Three four five. Six.", "sentences": [1, 2]}])
        self.assertEqual(found["metadata"], {"sentences": 3})
        self.assert_fails(weft("summarize", "--method", "oracle", "--file", papers), 2, "--reference-field")
        self.assert_fails(weft("summarize", self.folder, "--method", "lead", "--file", papers), 2, "no model")
        self.assert_fails(weft("summarize", "--method", "best", "--file", papers), 2, "must be one of lead, sumbasic")
        self.assert_fails(weft("summarize", "--file", papers), 2, "DIR is required", "--method")
        for flags in (("--max-new-tokens", "2"), ("--num-beams", "4"), ("--truncate",), ("--batch-size", "3"), ("--dtype", "bfloat16"), ("--device", "cuda")):
            with self.subTest(flags[0]):
                self.assert_fails(weft("summarize", "--method", "lead", "--file", papers, *flags), 2, flags[0], "--method has none")
        self.assert_fails(weft("summarize", "--method", "lead", "--file", papers, "--random-seed", "1"), 2, "--method random")
        self.assert_fails(weft("summarize", self.folder, "--file", papers, "--sentences", "1"), 2, "--sentences is for --method")


class AlignTest(Case):
    def setUp(self):
        super().setUp()
        self.model = make_marian(self.folder / "marian")
        self.source = self.write("text.en", SOURCES)
        self.target = self.write("text.de", TARGETS)

    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    def align(self, *arguments, files=True, source=None, target=None):
        given = ["--source", source or self.source, "--target", target or self.target] if files else []
        return weft("align", self.model, "--target-lang", "de", *given, *arguments)

    def lines(self, *arguments):
        process = self.align(*arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout.split("\n")[:-1]

    def test_links(self):
        lines = self.lines()
        self.assertEqual([bool(line) for line in lines], [True, False, True, True, False, False])
        for line, source, target in zip(lines, SOURCES, TARGETS):
            links = links_of(line)
            self.assertTrue(all(first < len(source.split()) and second < len(target.split()) for first, second in links))
            if links:
                self.assertEqual({second for _, second in links}, set(range(len(target.split()))))
        self.assertEqual(self.lines("--batch-size", "1"), lines)
        self.assertEqual(self.lines("--batch-tokens", "1"), lines)
        self.assertEqual(self.lines("--heads", "0", "1"), lines)
        (found,) = results("align", self.model, "--target-lang", "de", SOURCES[0], TARGETS[0])
        self.assertEqual(found["result"]["alignment"], lines[0])
        self.assertEqual((found["result"]["source_words"], found["result"]["target_words"]), (SOURCES[0].split(), TARGETS[0].split()))
        self.assertEqual({(link["source"], link["target"]) for link in found["result"]["links"]}, links_of(lines[0]))
        self.assertTrue(all(0 < link["probability"] <= 1.001 for link in found["result"]["links"]))
        self.assertEqual((found["metadata"]["layer"], found["metadata"]["heads"], found["metadata"]["one_by_one"]), (0, "all", False))
        # A text that names its language has a word more.
        (own,) = results("align", self.model, ">>de<< " + SOURCES[0], TARGETS[0])
        self.assertEqual(own["result"]["source_words"], [">>de<<", *SOURCES[0].split()])

    def test_files(self):
        lines = self.lines()
        out = self.folder / "out.pharaoh"
        self.assertEqual(self.lines("--out", out), [])
        self.assertEqual(out.read_text().split("\n")[:-1], lines)
        records = self.folder / "out.jsonl"
        self.lines("--out", records)
        rows = [json.loads(line) for line in records.read_text().splitlines()]
        self.assertEqual(rows[0], {"source": SOURCES[0], "target": TARGETS[0], "alignment": lines[0]})
        tabs = self.write("pairs", [f"{source}\t{target}" for source, target in zip(SOURCES[:5], TARGETS)])
        table = self.write("pairs.csv", ["id,de,en", *(f"{i},{target},\"{source}\"" for i, (source, target) in enumerate(zip(SOURCES, TARGETS)))])
        capitals = self.write("capitals.csv", ["Target,SOURCE", *(f"{target},\"{source}\"" for source, target in zip(SOURCES, TARGETS))])
        for path, named in ((tabs, []), (records, []), (capitals, []), (table, ["--source-field", "en", "--target-field", "de"])):
            found = self.align("--file", path, *named, files=False)
            self.assertEqual(found.stdout.split("\n")[:5], lines[:5], found.stderr)

    def test_both_directions(self):
        def directions(way):
            return [links_of(line) for line in self.lines("--reverse", self.model, "--source-lang", "fr", "--symmetrize", way)]
        forward = [links_of(line) for line in self.lines()]
        both, either, grown = directions("intersect"), directions("union"), directions("grow-diag")
        for i, links in enumerate(forward):
            self.assertTrue(both[i] <= links <= either[i])
            self.assertTrue(both[i] <= grown[i] <= either[i])
        self.assert_fails(self.align("--symmetrize", "union"), 2, "--reverse")

    def test_gold(self):
        lines = self.lines()
        figures = self.align("--gold", self.write("gold", lines), "--json")
        self.assertEqual(json.loads(figures.stdout), {"name": "AER", "score": 0.0, "precision": 1.0, "recall": 1.0, "sentences": len(lines)}, figures.stderr)
        from_one = [" ".join(f"{first + 1}p{second + 1}" for first, second in sorted(links_of(line))) for line in lines]
        out = self.folder / "out"
        table = self.align("--gold", self.write("gold1", from_one), "--gold-from-one", "--out", out)
        self.assertEqual(table.stdout.split()[:2], ["AER", "0%"], table.stderr)
        self.assertTrue(out.exists())
        for wrong, words in ((lines[:-1], ("5 lines", "more pairs")), ([*lines, ""], ("7 lines", "6 pairs")), (["9-0", *lines[1:]], ("line 1", "word 9", "5 and 5")),
                             (["0-0 x", *lines[1:]], ("line 1", "'x'"))):
            self.assert_fails(self.align("--gold", self.write("wrong", wrong)), 1, *words)

    def test_what_does_not_fit(self):
        self.assert_fails(weft("align", self.model, "--target-lang", "de"), 2, "no pair of texts")
        self.assert_fails(self.align("one"), 2, "several ways")
        self.assert_fails(self.align("one", files=False), 2, "two texts, found 1")
        self.assert_fails(weft("align", self.model, "--source", self.source), 2, "--target", "only --source")
        self.assert_fails(self.align("--format", "csv"), 2, "--file")
        self.assert_fails(self.align(target=self.write("short.de", TARGETS[:2])), 1, "6 lines", "2")
        self.assert_fails(self.align(source=self.write("none", []), target=self.write("none2", [])), 1, "no pair")
        self.assert_fails(self.align("--layer", "1"), 1, "layers 0 to 0")
        self.assert_fails(self.align("--heads", "2"), 1, "heads 0 to 1")
        self.assert_fails(self.align("--heads", "1", "1"), 1, "head 1 twice")
        self.assert_fails(self.align("--gold", "-", source="-"), 2, "both be standard input")
        self.assert_fails(weft("align", self.model, "a", "b"), 1, "--target-lang", "'de', 'fr'")
        self.assert_fails(self.align("a man " * 40, "ein", files=False), 1, "source has", "64")
        self.assert_fails(self.align("a man", "ein Mann " * 60, files=False), 1, "target has", "64", "--skip-long")
        long = self.align("--skip-long", "--reverse", self.model, "--source-lang", "fr", source=self.write("long.en", [SOURCES[0], "a man " * 40]),
                          target=self.write("long.de", [TARGETS[0], "ein"]))
        self.assertEqual([bool(line) for line in long.stdout.split("\n")[:-1]], [True, False], long.stderr)
        self.assertRegex(long.stderr, r"1 pair was without links: .*long\.en' line 2")
        (self.folder / "bytes").write_bytes(b"a\xff\n")
        self.assert_fails(self.align(source=self.folder / "bytes", target=self.folder / "bytes"), 1, "line 1", "UTF-8")


if __name__ == "__main__":
    unittest.main()
