// SPDX-License-Identifier: Apache-2.0
// Every family of encoder-decoders against transformers: outputs and the gradient of every parameter, on inputs of one
// token, of odd and of whole length, padded, with global positions; and decoding token by token.
#include <gtest/gtest.h>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "checkpoint/encoder_fixture.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_decoder/weights.h"
#include "weft/core/error.h"

namespace weft::checkpoint {
namespace {

// float32 against float64, as for encoders.
constexpr double kPairTolerance = 2e-5;

/// Of the tensors below the head.
std::string prefix_of(const std::string& model) {
  if (model.find("t5") != std::string::npos) {
    return "";
  }
  return model == "led" ? "led." : "model.";
}

class EncoderDecoderExactness : public ::testing::TestWithParam<const char*> {
 protected:
  EncoderDecoderExactness() : fixture_(std::string("seq2seq/") + GetParam()) {}

  models::EncoderDecoder load(const std::string& name) const {
    EncoderDecoderLoadOptions options;
    options.encoder.random = fixture_.plan(name);
    options.encoder.pad_like_hf = true;
    return load_encoder_decoder(fixture_.directory(), options);
  }

  models::SequencePair pair(const std::string& name) const {
    const std::string path = name + "/input/";
    return {.input_ids = fixture_.tensor(path + "input_ids"),
            .decoder_input_ids = fixture_.tensor(path + "decoder_input_ids"),
            .attention_mask = fixture_.tensor(path + "attention_mask"),
            .global_attention_mask = fixture_.tensor(path + "global_attention_mask")};
  }

  at::Tensor expected(const std::string& name, const std::string& output) const {
    return fixture_.tensor(name + "/output/" + output);
  }

  test::EncoderFixture fixture_;
};

TEST_P(EncoderDecoderExactness, OutputsEqualThoseOfTransformers) {
  const at::NoGradGuard without_gradients;
  for (const std::string& name : fixture_.cases()) {
    models::EncoderDecoder model = load(name);
    const models::SequencePair given = pair(name);
    const at::Tensor states = model->encoder_states(given.source());
    const at::Tensor keep = given.attention_mask.defined()
                                ? given.attention_mask.ne(0)
                                : at::ones(given.input_ids.sizes(), at::TensorOptions(at::kBool));
    EXPECT_LT(test::largest_difference(states, expected(name, "encoder_last_hidden_state"), keep), kPairTolerance)
        << name;
    EXPECT_LT(test::largest_difference(model->logits(given), expected(name, "logits")), kPairTolerance) << name;
  }
}

TEST_P(EncoderDecoderExactness, TokenByTokenToo) {
  const at::NoGradGuard without_gradients;
  models::EncoderDecoder model = load("odd");
  const models::SequencePair given = pair("odd");
  const auto source = model->encode(given.source());
  layers::DecodingState state = model->initial_state();
  const at::Tensor logits = expected("odd", "logits");
  for (std::int64_t at = 0; at < logits.size(1); ++at) {
    const at::Tensor found = model->decode(given.decoder_input_ids.narrow(1, at, 1), state, source);
    EXPECT_LT(test::largest_difference(found, logits.select(1, at)), kPairTolerance) << at;
  }
}

TEST_P(EncoderDecoderExactness, GradientsEqualThoseOfTransformers) {
  for (const std::string& name : fixture_.cases()) {
    if (!name.starts_with("padded")) {
      continue;
    }
    models::EncoderDecoder model = load(name);
    const at::Tensor loss = model->loss(pair(name), fixture_.tensor(name + "/label/labels"));
    EXPECT_NEAR(loss.item<double>(), fixture_.tensor(name + "/gradient/loss").item<double>(), 1e-5);
    loss.backward();
    const formats::SafetensorsFile file(fixture_.directory() / "model.safetensors");
    const WeightMap map = encoder_decoder_map(describe_encoder_decoder(file, model->config()), model->config());
    std::size_t compared = 1;  // the loss
    for (const auto& parameter : model->named_parameters()) {
      const HuggingFaceNames names = map.names_of(parameter.key());
      const auto parts = static_cast<std::int64_t>(names.parts.size());
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::string& tensor = names.parts[static_cast<std::size_t>(part)];
        const at::Tensor wanted = fixture_.tensor(concat(name, "/gradient/", tensor));
        ASSERT_TRUE(wanted.defined()) << tensor;
        const std::int64_t rows = parameter.value().size(0) / parts;
        const at::Tensor found = parameter.value().grad().narrow(0, part * rows, rows);
        const double allowed = 1e-4 * wanted.abs().max().item<double>() + 1e-7;
        EXPECT_LE(test::largest_difference(found, wanted), allowed) << name << ' ' << tensor;
        ++compared;
      }
    }
    EXPECT_EQ(compared, fixture_.group(name + "/gradient").size());
  }
}

/// A file with a copy of the shared table under each of its names, as transformers 4 wrote it, and one with a lone copy
/// under another name.
TEST_P(EncoderDecoderExactness, EveryLayoutOfSharedTablesGivesTheSameModel) {
  const at::NoGradGuard without_gradients;
  const std::filesystem::path path = fixture_.directory() / "model.safetensors";
  const NamedTensors stored = load_tensors(path);
  const std::string prefix = prefix_of(GetParam());
  const auto is_table = [&](const auto& entry) { return entry.first == prefix + "shared.weight"; };
  const auto table = std::find_if(stored.begin(), stored.end(), is_table);
  const bool tied =
      std::none_of(stored.begin(), stored.end(), [](const auto& entry) { return entry.first == "lm_head.weight"; });
  if (table == stored.end() || !tied) {
    GTEST_SKIP() << "its tables are apart";
  }
  const models::SequencePair given = pair("odd");
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"lm_head.weight", prefix + "shared.weight", prefix + "encoder.embed_tokens.weight",
                                 prefix + "decoder.embed_tokens.weight"},
        {prefix + "encoder.embed_tokens.weight"},
        {"lm_head.weight"}}) {
    NamedTensors copies;
    std::copy_if(stored.begin(), stored.end(), std::back_inserter(copies),
                 [&](const auto& entry) { return !is_table(entry); });
    for (const std::string& name : names) {
      copies.emplace_back(name, table->second);
    }
    save_tensors(path, copies);
    EXPECT_LT(test::largest_difference(load("odd")->logits(given), expected("odd", "logits")), kPairTolerance)
        << names.front();
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EncoderDecoderExactness,
                         ::testing::Values("marian", "marian_apart", "bart", "bart_untied", "pegasus",
                                           "bigbird_pegasus", "led", "t5", "t5_gated", "mt5", "umt5", "longt5",
                                           "longt5_global", "longt5_global_wide", "mbart", "m2m_100"));

}  // namespace
}  // namespace weft::checkpoint
