// SPDX-License-Identifier: Apache-2.0
// GPT-2 against transformers (tests/fixtures/make/gpt2.py): logits, gradients, token by token, what is written back,
// and what cannot be opened.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <string>
#include <utility>

#include "checkpoint/encoder_fixture.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/weights.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/rows.h"

namespace weft::checkpoint {
namespace {

constexpr double kGpt2Tolerance = 2e-5;  // float32 against float64

class Gpt2Directory : public ::testing::TestWithParam<const char*> {
 protected:
  Gpt2Directory() : fixture_(std::string("gpt2/") + GetParam()) {}

  at::Tensor ids(const std::string& name) const { return fixture_.tensor(name + "/input/input_ids"); }
  at::Tensor logits(const std::string& name) const { return fixture_.tensor(name + "/output/logits"); }

  test::EncoderFixture fixture_;
};

TEST_P(Gpt2Directory, LogitsAreThoseOfTransformers) {
  const at::NoGradGuard without_gradients;
  models::LanguageModel model = load_model(fixture_.directory());
  for (const std::string& name : fixture_.cases()) {
    EXPECT_LT(test::largest_difference(model->logits({.input_ids = ids(name)}), logits(name)), kGpt2Tolerance) << name;
  }
  layers::DecodingState state = model->initial_state();
  const at::Tensor tokens = ids("odd");
  for (std::int64_t at = 0; at < tokens.size(1); ++at) {
    const at::Tensor found = model->decode(tokens.narrow(1, at, 1), state);
    EXPECT_LT(test::largest_difference(found, logits("odd").select(1, at)), kGpt2Tolerance) << at;
  }
}

TEST_P(Gpt2Directory, GradientsAreThoseOfTransformers) {
  models::LanguageModel model = load_model(fixture_.directory());
  const at::Tensor tokens = ids("odd");
  const at::Tensor next =
      at::cat({tokens.narrow(1, 1, tokens.size(1) - 1), at::full({tokens.size(0), 1}, -100, at::kLong)}, 1);
  const at::Tensor loss = model->loss({.input_ids = tokens}, next);
  EXPECT_NEAR(loss.item<double>(), fixture_.tensor("odd/gradient/loss").item<double>(), 1e-5);
  loss.backward();
  const WeightMap map = models::gpt2_family().causal->weights(model->config());
  for (const auto& parameter : model->named_parameters()) {
    const HuggingFaceNames names = map.names_of(parameter.key());
    const at::Tensor wanted = fixture_.tensor("odd/gradient/" + names.parts.front());
    ASSERT_TRUE(wanted.defined()) << parameter.key();
    const at::Tensor found = parameter.value().grad();
    EXPECT_LE(test::largest_difference(names.transposed ? found.t() : found, wanted),
              1e-4 * wanted.abs().max().item<double>() + 1e-7)
        << parameter.key();
  }
}

TEST_P(Gpt2Directory, IsWrittenAsItWasRead) {
  const test::TemporaryDirectory folder;
  const models::LanguageModel model = load_model(fixture_.directory());
  save_model_as(*models::gpt2_family().causal, folder / "made", model, fixture_.directory());
  const formats::Json made = formats::read_json(named_by_user(folder / "made/config.json"));
  const formats::Json given = formats::read_json(named_by_user(fixture_.directory() / "config.json"));
  for (const char* name : {"model_type", "n_embd", "n_inner", "n_head", "activation_function", "tie_word_embeddings",
                           "scale_attn_by_inverse_layer_idx"}) {
    EXPECT_EQ(made.at(name), given.at(name)) << name;
  }
  const NamedTensors stored = load_tensors(fixture_.directory() / "model.safetensors");
  const NamedTensors written = load_tensors(folder / "made/model.safetensors");
  EXPECT_EQ(stored.size(), written.size());
  for (const auto& [name, tensor] : stored) {
    const auto found = std::find_if(written.begin(), written.end(),
                                    [&, &key = name](const auto& entry) { return entry.first == key; });
    ASSERT_NE(found, written.end()) << name;
    EXPECT_TRUE(found->second.equal(tensor.to(at::kFloat))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Gpt2Directory, ::testing::Values("released", "by_layer"));

/// The released file has no prefix, and the masks of its attention.
TEST(Gpt2Names, FilesWithoutPrefixOpen) {
  const at::NoGradGuard without_gradients;
  const test::EncoderFixture fixture("gpt2/released");
  const std::filesystem::path path = fixture.directory() / "model.safetensors";
  NamedTensors tensors = load_tensors(path);
  for (auto& [name, tensor] : tensors) {
    name = name.substr(std::string_view("transformer.").size());
  }
  tensors.emplace_back("h.0.attn.bias", at::full({1, 1, 19, 19}, 1, at::kFloat));
  save_tensors(path, tensors);
  const at::Tensor ids = fixture.tensor("odd/input/input_ids");
  EXPECT_LT(test::largest_difference(load_model(fixture.directory())->logits({.input_ids = ids}),
                                     fixture.tensor("odd/output/logits")),
            kGpt2Tolerance);
}

TEST(Gpt2Names, WhatCannotBeExpressedIsRefused) {
  const test::EncoderFixture fixture("gpt2/released");
  const std::filesystem::path path = fixture.directory() / "config.json";
  const formats::Json given = formats::read_json(named_by_user(path));
  for (const auto& [field, value] : {std::pair<const char*, formats::Json>{"scale_attn_weights", false},
                                     {"add_cross_attention", true},
                                     {"architectures", formats::Json::array({"GPT2ForSequenceClassification"})}}) {
    formats::Json changed = given;
    changed[field] = value;
    write_file_atomically(path, formats::print_json(changed));
    test::expect_error(ErrorKind::kUnsupported, {field, "config.json"}, [&] { load_config(fixture.directory()); });
  }
}

}  // namespace
}  // namespace weft::checkpoint
