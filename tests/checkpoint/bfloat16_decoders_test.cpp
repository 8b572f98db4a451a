// SPDX-License-Identifier: Apache-2.0
// Directories of decoders opened with weights of bfloat16, also beside int8 ones: the weights are those of the file,
// rounded, and tokens one by one have about the probabilities of float32.
#include <gtest/gtest.h>

#include <ATen/ops/log_softmax.h>
#include <c10/core/GradMode.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "checkpoint/encoder_fixture.h"
#include "models/small_model.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/like_transformers.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/text/hugging_face.h"

namespace weft::checkpoint {
namespace {

const std::filesystem::path kFixtures = WEFT_TEST_DATA_DIR;

/// Logarithms of the probabilities of 12 tokens of two texts, written one by one.
std::vector<at::Tensor> written(models::LanguageModel model) {
  torch::manual_seed(3);
  const at::Tensor ids = test::random_ids(2, 12).remainder(model->config().vocab_size);
  layers::DecodingState state = model->initial_state();
  std::vector<at::Tensor> logarithms;
  logarithms.reserve(static_cast<std::size_t>(ids.size(1)));
  for (std::int64_t at = 0; at < ids.size(1); ++at) {
    logarithms.push_back(at::log_softmax(model->decode(ids.narrow(1, at, 1), state), 1));
  }
  return logarithms;
}

double mean_nats_apart(const models::LanguageModel& a, const models::LanguageModel& b) {
  const std::vector<at::Tensor> first = written(a);
  const std::vector<at::Tensor> second = written(b);
  double sum = 0.0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    sum += (first[i] - second[i]).abs().mean().item<double>();
  }
  return sum / static_cast<double>(first.size());
}

// Numbers are off by up to 2^-9 of themselves; these models have two or three layers and logits near 1.
constexpr double kRounded = 0.05;

void expect_near(const OpenedModel& directory, const std::string& what) {
  const models::LanguageModel exact = load_model(directory);
  const models::LanguageModel half = load_model(directory, {.dtype = at::kBFloat16});
  const auto given = exact->named_parameters();
  for (const auto& parameter : half->named_parameters()) {
    ASSERT_EQ(parameter.value().scalar_type(), at::kBFloat16) << what << parameter.key();
    EXPECT_TRUE(parameter.value().equal(given[parameter.key()].to(at::kBFloat16))) << what << parameter.key();
  }
  const double apart = mean_nats_apart(exact, half);
  EXPECT_LT(apart, kRounded) << what;
  EXPECT_GT(apart, 1e-6) << what << ": nothing was rounded";
}

TEST(Bfloat16Decoders, Gpt2) {
  for (const std::string name : {"gpt2/released", "gpt2/by_layer"}) {
    const test::EncoderFixture fixture(name);
    expect_near(open_model(fixture.directory()), name);
  }
}

TEST(Bfloat16Decoders, TransformerXl) {
  for (const std::string name : {"clusters", "one-table", "no-clusters"}) {
    expect_near(open_model(kFixtures / "transformer_xl" / name), name);
  }
}

TEST(Bfloat16Decoders, ReformersWithTheCacheOfTransformersToo) {
  const OpenedModel directory = open_model(kFixtures / "reformer" / "mixed");
  const models::LanguageModel half = load_model(directory, {.dtype = at::kBFloat16});
  EXPECT_EQ(half->parameters().front().scalar_type(), at::kBFloat16);
  EXPECT_TRUE(written(half).back().isfinite().all().item<bool>());
  const models::LanguageModel cached = load_cached_like_transformers(directory, at::kBFloat16);
  EXPECT_EQ(cached->parameters().front().scalar_type(), at::kBFloat16);
  EXPECT_TRUE(written(cached).back().isfinite().all().item<bool>());
}

// Encoder-decoders have had the type for longer: what a decoder reads of its source is rounded, too.
TEST(Bfloat16Decoders, TokensBehindASource) {
  const at::NoGradGuard without_gradients;
  for (const std::string name : {"marian", "marian_apart", "m2m_100", "mbart", "bart_untied", "t5", "t5_gated", "mt5",
                                 "umt5", "longt5", "pegasus", "bigbird_pegasus", "led"}) {
    const test::EncoderFixture fixture("seq2seq/" + name);
    const at::Tensor source = fixture.tensor("odd/input/input_ids");
    const at::Tensor mask = fixture.tensor("odd/input/attention_mask");
    const at::Tensor target = fixture.tensor("odd/input/decoder_input_ids");
    models::EncoderDecoder exact = load_encoder_decoder(fixture.directory());
    models::EncoderDecoder half = load_encoder_decoder(fixture.directory(), {.dtype = at::kBFloat16});
    const auto of_exact = exact->encode(source, mask);
    const auto of_half = half->encode(source, mask);
    layers::DecodingState state = exact->initial_state();
    layers::DecodingState its_state = half->initial_state();
    double sum = 0.0;
    std::int64_t same = 0;
    for (std::int64_t at = 0; at < target.size(1); ++at) {
      const at::Tensor token = target.narrow(1, at, 1);
      const at::Tensor wanted = at::log_softmax(exact->decode(token, state, of_exact), 1);
      const at::Tensor found = at::log_softmax(half->decode(token, its_state, of_half), 1);
      sum += (wanted - found).abs().mean().item<double>();
      same += wanted.argmax(1).eq(found.argmax(1)).sum().item<std::int64_t>();
    }
    EXPECT_LT(sum / static_cast<double>(target.size(1)), kRounded) << name;
    EXPECT_GE(static_cast<double>(same), 0.8 * static_cast<double>(target.numel())) << name << " " << same;
  }
}

TEST(Bfloat16Decoders, BesideInt8Weights) {
  const test::TemporaryDirectory folder;
  for (const bool is_tied : {false, true}) {
    models::TransformerConfig config = test::small_config();
    config.tie_word_embeddings = is_tied;
    save_model(folder / "model", test::make_model(config), *text::make_byte_tokenizer());
    const OpenedModel directory = open_model(folder / "model");
    const models::LanguageModel wide = load_model(directory, {.int8 = true});
    const models::LanguageModel half = load_model(directory, {.int8 = true, .dtype = at::kBFloat16});
    EXPECT_TRUE(layers::holds_int8(*half));
    for (const auto& parameter : half->named_parameters()) {
      EXPECT_EQ(parameter.value().scalar_type(), at::kBFloat16) << parameter.key();
    }
    const auto keepers = layers::int8_keepers(*half);
    for (const auto& [name, keeper] : layers::int8_keepers(*wide)) {
      for (const auto& [other, its] : keepers) {
        if (name == other && keeper->kept() != nullptr) {
          EXPECT_TRUE(keeper->kept()->codes().equal(its->kept()->codes())) << name << ": codes are those of float32";
        }
      }
    }
    EXPECT_LT(mean_nats_apart(wide, half), 2 * kRounded) << "rows of 8 bits become rows of int8";
  }
}

}  // namespace
}  // namespace weft::checkpoint
