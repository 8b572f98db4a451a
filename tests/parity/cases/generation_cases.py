# SPDX-License-Identifier: Apache-2.0
"""Settings of generation drawn at random, and what `transformers` generates with them, for models that are a function from ids to logits.

Draws of tokens are Weft's: `torch.multinomial` is replaced by the same choice from the same counter-based numbers.
"""
import random

import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import CausalLMOutput

LOWEST_REAL = -1e8  # beams that nobody found have -1e9
MASK = 0xFFFFFFFF


def philox(key, low, high):
    """Ten rounds of Philox4x32, as src/weft/core/random.h has it; the first two words as one number."""
    c = [low & MASK, low >> 32 & MASK, high & MASK, high >> 32 & MASK]
    k0, k1 = key & MASK, key >> 32 & MASK
    for _ in range(10):
        one, two = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [two >> 32 ^ c[1] ^ k0, two & MASK, one >> 32 ^ c[3] ^ k1, one & MASK]
        k0, k1 = k0 + 0x9E3779B9 & MASK, k1 + 0xBB67AE85 & MASK
    return c[1] << 32 | c[0]


def uniform(seed, step, row, draw=0):
    return (philox(seed, step, (row << 16) + draw) >> 11) * 2.0**-53


class Draws:
    """Takes the place of torch.multinomial during one call of generate(): a call is a step, a row a text or a prompt."""

    def __init__(self, seed):
        self.seed, self.step, self.nearest = seed, -1, 1.0

    def __call__(self, probabilities, num_samples):
        self.step += 1
        rows = enumerate(probabilities.double().tolist())
        return torch.tensor([self.one(p, row) if num_samples == 1 else self.several(p, num_samples, row) for row, p in rows])

    def pick(self, order, weights, point):
        passed = 0.0
        for index in order:
            passed += weights[index]
            self.nearest = min(self.nearest, abs(passed - point))
            if point < passed:
                return index
        return order[-1]

    def one(self, weights, row):
        total = sum(weights)
        order = sorted((i for i, w in enumerate(weights) if w > 0), key=lambda i: (-weights[i], i))
        return [self.pick(order, [w / total for w in weights], uniform(self.seed, self.step, row))]

    def several(self, weights, count, row):
        order, drawn = [i for i, w in enumerate(weights) if w > 0], []
        while order and len(drawn) < count:
            left = sum(weights[i] for i in order)
            drawn.append(self.pick(order, weights, uniform(self.seed, self.step, row, len(drawn)) * left))
            order.remove(drawn[-1])
        # Where fewer may come torch.multinomial refuses; these have no probability.
        rest = (i for i, w in enumerate(weights) if w == 0)
        return drawn + [next(rest) for _ in range(count - len(drawn))]


class FunctionConfig(PretrainedConfig):
    model_type = "function"


class FunctionModel(PreTrainedModel, GenerationMixin):
    """Logits of the last position are `function(ids)`; an id beyond the vocabulary, which fills ended rows, is read as 0."""

    config_class = FunctionConfig

    def __init__(self, vocabulary, function):
        super().__init__(FunctionConfig(vocab_size=vocabulary))
        self.place = torch.nn.Parameter(torch.zeros(1))
        self.vocabulary, self.function = vocabulary, function

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **_):
        return CausalLMOutput(logits=self.function(input_ids.where(input_ids < self.vocabulary, 0))[:, None])


def words(source, vocabulary, count, longest):
    return [[source.randrange(vocabulary) for _ in range(source.randint(1, longest))] for _ in range(count)]


def maybe(source, chance, choices, settings, name):
    if source.random() < chance:
        settings[name] = source.choice(choices)


def lengths(source, prompt, settings):
    new = source.randint(1, 14)
    settings |= {"max_new_tokens": new} if source.random() < 0.6 else {"max_length": prompt + new}
    if source.random() < 0.4:
        settings |= {"min_new_tokens": source.randint(1, 6)} if source.random() < 0.5 else {"min_length": prompt + source.randint(0, 6)}


def limits(source, vocabulary, prompt, settings):
    maybe(source, 0.25, [0.7, 1.2, 1.8], settings, "repetition_penalty")
    maybe(source, 0.2, [0.7, 1.3], settings, "encoder_repetition_penalty")
    maybe(source, 0.25, [1, 2, 3], settings, "no_repeat_ngram_size")
    maybe(source, 0.2, [1, 2, 3], settings, "encoder_no_repeat_ngram_size")
    maybe(source, 0.25, [words(source, vocabulary, 3, 3)], settings, "bad_words_ids")
    maybe(source, 0.25, [[[word, source.choice([-3.0, 2.5, -0.25])] for word in words(source, vocabulary, 3, 3)]], settings, "sequence_bias")
    maybe(source, 0.2, [source.sample(range(vocabulary), 2)], settings, "suppress_tokens")
    maybe(source, 0.2, [source.sample(range(vocabulary), 3)], settings, "begin_suppress_tokens")
    maybe(source, 0.2, [source.randrange(vocabulary)], settings, "forced_bos_token_id")
    maybe(source, 0.25, [settings["eos_token_id"][:1], [source.randrange(vocabulary)]], settings, "forced_eos_token_id")
    maybe(source, 0.2, [[2, 1.2], [0, 1.05], [4, 1.5]], settings, "exponential_decay_length_penalty")
    maybe(source, 0.1, [True], settings, "remove_invalid_values")
    maybe(source, 0.3, [True], settings, "renormalize_logits")


def drawing(source, settings):
    maybe(source, 0.4, [0.6, 0.9, 1.7], settings, "temperature")
    maybe(source, 0.2, [0.3, 0.7, 0.95], settings, "top_h")
    settings["top_k"] = source.choice([0, 0, 3, 6, 9])
    maybe(source, 0.3, [0.5, 0.8, 0.95], settings, "top_p")
    maybe(source, 0.2, [0.02, 0.1], settings, "min_p")
    maybe(source, 0.2, [0.3, 0.8], settings, "typical_p")
    maybe(source, 0.2, [0.01, 0.05], settings, "epsilon_cutoff")
    maybe(source, 0.2, [0.02, 0.2], settings, "eta_cutoff")


def random_settings(source, vocabulary, prompt):
    """Names and values as generate() takes them."""
    way = source.choice(["greedy", "sample", "sample", "beams", "beams", "beams", "beam-sample"])
    settings = {"eos_token_id": source.sample(range(vocabulary), source.randint(1, 3))}
    lengths(source, prompt, settings)
    limits(source, vocabulary, prompt, settings)
    if way in ("sample", "beam-sample"):
        settings["do_sample"] = True
        drawing(source, settings)
    if way in ("beams", "beam-sample"):
        settings["num_beams"] = source.randint(2, 5)
        maybe(source, 0.7, [-1.0, 0.0, 0.6, 2.0], settings, "length_penalty")
        settings["early_stopping"] = source.choice([False, True, "never"])
    most = {"greedy": 1, "sample": 3}.get(way, settings.get("num_beams", 1))
    settings["num_return_sequences"] = source.randint(1, most)
    return settings


def random_case(seed, vocabulary):
    """Settings, prompts of one length, and the seed of the draws."""
    source = random.Random(seed)
    prompt = source.randint(1, 4)
    prompts = [[source.randrange(vocabulary) for _ in range(prompt)] for _ in range(source.randint(1, 3))]
    return random_settings(source, vocabulary, prompt), prompts, source.randrange(1 << 30)


def generated(model, vocabulary, settings, prompts, seed):
    """New tokens and, of beams, scores: for each prompt and returned sequence; None for a text that was not found. And how near a draw
    came to another token."""
    draws, usual = Draws(seed), torch.multinomial
    torch.multinomial = lambda probabilities, num_samples: draws(probabilities, num_samples)
    ids = torch.tensor(prompts)
    try:
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=vocabulary, use_cache=False, output_scores=True,
                                 return_dict_in_generate=True, **settings)
    finally:
        torch.multinomial = usual
    texts = [[token for token in row[ids.shape[1]:] if token != vocabulary] for row in out.sequences.tolist()]
    if settings.get("num_beams", 1) == 1:
        return texts, [0.0] * len(texts), draws.nearest
    scores = out.sequences_scores.tolist()
    return [text if score > LOWEST_REAL else None for text, score in zip(texts, scores)], scores, draws.nearest
