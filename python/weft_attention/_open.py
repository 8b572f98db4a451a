# SPDX-License-Identifier: Apache-2.0
"""open: a model directory as an object whose methods are the commands of the program, from texts to results."""
import contextlib
import json
import os
import threading

from ._arrays import array_of, vector_of
from ._errors import ArgumentError, WeftError
from ._native import load_runtime
from ._settings import plain_json
from ._texts import list_of, pairs_of, text_of, texts_of


def open(model, **settings):
    """Opens a model: a directory of Hugging Face or of `weft train`, or a name of the Hub.

    Its config is read here. Weights are read when a method first needs them, and stay until the object is closed or
    gone. Needs the package weft-attention-runtime.

    Args:
        model: a path, or "organisation/name[@revision]".
        settings: how the model computes, by the names of the commands' flags with underscores: dtype ("float32",
            "bfloat16", "auto"), weights ("stored", "int8"), attention (a pattern or mechanism in place of that of its
            config), max_length (tokens of a window), max_source_length (of an encoder-decoder), check_tensors,
            pad_like_hf, attention_type, block_size, random_blocks, random, device ("cpu", "cuda" or "cuda:N": where it
            computes).

    Returns:
        A Model.

    Raises:
        WeftError: the directory, its config or a setting is not right.
        UnsupportedError: Weft does not open such a model, or the runtime is missing.
    """
    return Model(model, settings)


class Model:
    """An opened model. Each method is the command of its name: the same settings, and the result that the command prints
    with --json, for one text, or for a list of texts a list.

    Settings that all methods on texts take: batch_size and batch_tokens (computed together at most; results do not
    depend on them), truncate (cut what is too long; without it that is an error, or the text is read in windows), stride
    (tokens that windows share). With metadata=True each result is a dict with "result" and "metadata", what was
    computed. Each method raises WeftError where the model has not the head that it needs.

    Several threads may use one model: one call is computed at a time. Ctrl-C ends a call between two batches or tokens.
    """

    def __init__(self, model, settings):
        self._name = os.fspath(model)
        if not isinstance(self._name, str):
            raise ArgumentError(f"open: expected the model as a str or a path of str, found {self._name!r:.80}")
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._native = load_runtime("weft_attention.open").Model(self._name, plain_json(settings))

    def __repr__(self):
        if self._native is None:
            return f"<Model {self._name!r}, closed>"
        return f"<Model {self._name!r}, {self._native.family}>"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Frees the weights. The object cannot be used after it."""
        with self._lock if os.getpid() == self._process else contextlib.nullcontext():
            self._native = None

    @property
    def family(self):
        """model_type of its config.json."""
        return self._here().family

    @property
    def path(self):
        """The directory."""
        return self._here().path

    def encode(self, texts, *, torch=False, metadata=False, **settings):
        """The last hidden states: for each text float32 [tokens, width], special tokens included. A text beyond the
        model's length is read in windows, each token in the one that has more around it."""
        return self._vectors("encode", texts, settings, torch, metadata)

    def embed(self, texts, *, torch=False, metadata=False, **settings):
        """A vector for each text, as the directory's modules of sentence-transformers say, else the mean of its tokens.

        Args:
            texts: a str, or a list of them.
            torch: tensors in place of NumPy arrays.
            metadata: results with what was computed.
            settings: pooling, normalize, prompt, prompt_name, dimensions, and those of all methods.

        Returns:
            float32 [width] for one text, [texts, width] for a list.
        """
        return self._vectors("embed", texts, settings, torch, metadata)

    def chunks(self, texts, rule="sentences", *, torch=False, metadata=False, **settings):
        """Late chunking: each text is read once, and each of its sentences, or each `rule` tokens, has a vector: a list
        of dicts with start, end, tokens, text and embedding. Settings as in embed()."""
        found = self._run("chunk", texts, None, {**settings, "chunks": str(rule)}, metadata)
        for result in [found] if isinstance(texts, str) else found:
            for chunk in result["result"] if metadata else result:
                chunk["embedding"] = vector_of(chunk["embedding"], torch, "float32")
        return found

    def score(self, pairs, *, torch=False, metadata=False, **settings):
        """How well texts answer queries, by a cross-encoder: a number for each pair (query, text).

        Args:
            pairs: a tuple of two str, or a list of them.
            torch: a tensor in place of a NumPy array.
            metadata: results with what was computed.
            settings: raw_scores, windows, and those of all methods.

        Returns:
            A float for one pair, float64 [pairs] for a list.
        """
        firsts, seconds, single = pairs_of("score", pairs)
        found = self._results("score", firsts, seconds, settings, metadata)
        if single:
            return found[0]
        return found if metadata else vector_of(found, torch, "float64")

    def rerank(self, query, texts, *, metadata=False, **settings):
        """Texts in the order of how well they answer a query: [{"index", "score"}], best first. Settings: top_k,
        raw_scores, return_text, windows, and those of all methods."""
        query, texts = text_of("rerank", "query", query), texts_of("rerank", texts)
        return self._results("rerank", [query] * len(texts), texts, settings, metadata)[0]

    def classify(self, texts, *, metadata=False, **settings):
        """Labels: for each text, or pair of texts (a tuple), [{"label", "score"}], best first. Settings: top_k (1; 0 for
        all), function_to_apply, and those of all methods."""
        texts = texts if isinstance(texts, (str, tuple)) else list_of("classify", texts)
        if isinstance(texts, tuple) or (texts and isinstance(texts[0], (tuple, list))):
            firsts, seconds, single = pairs_of("classify", texts)
            found = self._results("classify", firsts, seconds, settings, metadata)
            return found[0] if single else found
        return self._run("classify", texts, None, settings, metadata)

    def tag(self, texts, *, metadata=False, **settings):
        """Entities: for each text [{"entity_group" or "entity", "score", "word", "start", "end", ...}]. Settings:
        aggregation_strategy ("none"), ignore_labels (["O"]), and those of all methods."""
        return self._run("tag", texts, None, settings, metadata)

    def fill_mask(self, texts, *, metadata=False, **settings):
        """What stands behind the mask: for each text [{"score", "token", "token_str", "sequence"}], best first, or a list
        of such lists where it has several masks. Settings: top_k (5), targets, and those of all methods."""
        return self._run("fill_mask", texts, None, settings, metadata)

    def answer(self, question, document, *, metadata=False, **settings):
        """Answers that stand in documents of any length.

        Args:
            question: a str, or a list of them.
            document: a str, or a list of them; one question is asked of every document, several of one, or each of its
                own.
            metadata: results with what was computed.
            settings: top_k, max_answer_len, handle_impossible_answer, null_threshold, and those of all methods.

        Returns:
            {"answer", "score", "start", "end", ...} for each, or with top_k above 1 a list of them.
        """
        single = isinstance(question, str) and isinstance(document, str)
        questions, documents = texts_of("answer", question), texts_of("answer", document)
        if isinstance(question, str):
            questions = questions * len(documents)
        if isinstance(document, str):
            documents = documents * len(questions)
        if len(questions) != len(documents):
            raise ArgumentError(f"answer: {len(questions)} questions and {len(documents)} documents; expected as many")
        found = self._results("answer", questions, documents, settings, metadata)
        return found[0] if single else found

    def choose(self, prompt, choices, *, metadata=False, **settings):
        """Which of several texts goes with a prompt: [{"index", "choice", "score"}], best first."""
        prompt, choices = text_of("choose", "prompt", prompt), texts_of("choose", choices)
        return self._results("choose", [prompt] * len(choices), choices, settings, metadata)[0]

    def restore(self, texts, *, metadata=False, **settings):
        """Case, punctuation and sentence ends for bare words: for each text {"text", "sentences"}."""
        return self._run("restore", texts, None, settings, metadata)

    def generate(self, prompts, *, on_text=None, metadata=False, **settings):
        """Goes on from prompts with a language model.

        Args:
            prompts: a str, or a list of them.
            on_text: of one prompt, a function that is given each piece of the text as it comes; where it returns False
                the text ends.
            metadata: results with what was computed.
            settings: those of transformers' GenerationConfig, such as max_new_tokens, do_sample, temperature, top_p,
                num_beams, num_return_sequences, seed, stop_strings.

        Returns:
            For each prompt [{"prompt", "generated_text", "new_tokens", "finish_reason"}].
        """
        return self._written("generate", prompts, settings, metadata, on_text)

    def translate(self, texts, *, on_text=None, metadata=False, **settings):
        """Translations of texts of any length, sentence by sentence: for each text [{"translation_text", "sentences"}].
        Settings: source_lang, target_lang, split_sentences, document (lines do not end sentences), batch_size,
        batch_tokens, and those of generate()."""
        return self._written("translate", texts, settings, metadata, on_text)

    def summarize(self, texts, *, on_text=None, metadata=False, **settings):
        """Short texts of long ones: for each text [{"summary_text"}]. Settings: truncate, batch_size, batch_tokens, and
        those of generate()."""
        return self._written("summarize", texts, settings, metadata, on_text)

    def _here(self):
        if self._native is None:
            raise WeftError(f"the model {self._name!r} is closed", "open it again")
        if os.getpid() != self._process:
            raise WeftError(
                f"the model {self._name!r} was opened by the process {self._process}, of which this one is a fork",
                "open it in this process, or start workers by spawn",
            )
        return self._native

    @contextlib.contextmanager
    def _alone(self):
        """The native model, for one call at a time. A fork is refused before the lock, which another thread may have held."""
        self._here()
        with self._lock:
            yield self._here()

    def _results(self, task, texts, seconds, settings, metadata):
        with self._alone() as native:
            found = json.loads(native.run(task, texts, seconds, plain_json(settings)))
        return found if metadata else [one["result"] for one in found]

    def _run(self, task, texts, seconds, settings, metadata):
        found = self._results(task, texts_of(task, texts), seconds, settings, metadata)
        return found[0] if isinstance(texts, str) else found

    def _written(self, task, texts, settings, metadata, on_text):
        if on_text is None:
            return self._run(task, texts, None, settings, metadata)
        if not isinstance(texts, str):
            raise ArgumentError(f"{task}: on_text is for one text, found a list", "call it for each text")
        with self._alone() as native:
            written = native.write(task, texts_of(task, texts), plain_json(settings), on_text)
        (one,) = json.loads(written)
        return one if metadata else one["result"]

    def _vectors(self, task, texts, settings, torch, metadata):
        with self._alone() as native:
            arrays, said = native.vectors(task, texts_of(task, texts), plain_json(settings))
        rows = [array_of(array, torch) for array in arrays]
        rows = rows[0] if task == "embed" else rows
        if metadata:
            rows = [{"result": row, "metadata": one} for row, one in zip(rows, json.loads(said))]
        return rows[0] if isinstance(texts, str) else rows
