// SPDX-License-Identifier: Apache-2.0
// Masked tokens of a text against the model asked window by window; and that batches do not matter.
#include "weft/training/evaluation/evaluate_masked.h"

#include <gtest/gtest.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include <cmath>

#include "support/expect_error.h"
#include "weft/text/tokenizer.h"

namespace weft::training {
namespace {

constexpr std::int64_t kContext = 16;

models::LanguageModel encoder(bool is_decoder = false) {
  models::TransformerConfig config;
  config.vocab_size = 257;
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.max_position_embeddings = kContext;
  config.initializer_range = 0.3;
  config.is_decoder = is_decoder;
  torch::manual_seed(3);
  return models::LanguageModel(config);
}

data::MaskingOptions masking() { return {0.15, 256, 256, 7, data::MaskedUnit::kTokens, nullptr}; }

EvaluateOptions options(std::int64_t batch_tokens, std::int64_t max_bytes = 0) {
  EvaluateOptions result;
  result.batch_tokens = batch_tokens;
  result.max_bytes = max_bytes;
  result.dtype = "float32";
  return result;
}

std::string text_of(std::int64_t bytes) {
  std::string text;
  for (std::int64_t i = 0; i < bytes; ++i) {
    text += static_cast<char>('a' + (i * i + i / 3) % 26);
  }
  return text;
}

MaskedResult evaluated(const std::string& text, const EvaluateOptions& asked) {
  return evaluate_masked(encoder(), *text::make_byte_tokenizer(), text, masking(), asked);
}

TEST(EvaluateMasked, IsWhatTheModelSaysOfEachWindow) {
  const at::NoGradGuard no_grad;
  models::LanguageModel model = encoder();
  model->eval();
  for (const std::int64_t bytes : {1, 5, 16, 17, 100}) {
    const std::string text = text_of(bytes);
    const std::vector<std::int64_t> ids = text::make_byte_tokenizer()->encode(text);
    double nats = 0.0;
    double hits = 0.0;
    std::int64_t tokens = 0;
    for (std::int64_t window = 0; window * kContext < bytes; ++window) {
      const std::int64_t length = std::min(kContext, bytes - window * kContext);
      const at::Tensor shown = at::tensor(ids, at::kLong).narrow(0, window * kContext, length).unsqueeze(0);
      const data::Batch batch = data::masked_batch(shown, masking(), window, 0);
      const at::Tensor scores = model->logits(models::ModelInput{batch.input_ids, {}, {}, {}, {}}).squeeze(0);
      const at::Tensor labels = batch.labels.squeeze(0);
      nats += at::cross_entropy_loss(scores, labels, {}, at::Reduction::Sum, -100).item<double>();
      hits += scores.argmax(1).eq(labels).sum().item<double>();
      tokens += labels.ne(-100).sum().item<std::int64_t>();
    }
    const MaskedResult result = evaluated(text, options(1));
    EXPECT_EQ(result.tokens, tokens) << bytes;
    EXPECT_EQ(result.context, kContext);
    EXPECT_DOUBLE_EQ(result.accuracy, hits / static_cast<double>(tokens)) << bytes;
    // float32 scores, summed in another order
    EXPECT_NEAR(result.loss, nats / static_cast<double>(tokens), 1e-5) << bytes;
  }
}

TEST(EvaluateMasked, BatchesChangeNothing) {
  const std::string text = text_of(1000);
  const MaskedResult alone = evaluated(text, options(1));
  for (const std::int64_t batch : {48, 100000}) {
    const MaskedResult together = evaluated(text, options(batch));
    EXPECT_EQ(together.tokens, alone.tokens);
    EXPECT_EQ(together.accuracy, alone.accuracy);
    EXPECT_NEAR(together.loss, alone.loss, 1e-5);  // float32 products of other shapes
  }
}

TEST(EvaluateMasked, ReadsNoFurtherThanAsked) {
  const std::string text = text_of(100);
  EXPECT_EQ(evaluated(text, options(64, 40)).loss, evaluated(text.substr(0, 40), options(64)).loss);
}

// The tokens of a longer window are masked together, and read in pieces.
TEST(EvaluateMasked, AsksForTheSameTokensInWindowsOfEveryLength) {
  const at::NoGradGuard no_grad;
  models::LanguageModel model = encoder();
  model->eval();
  const std::string text = text_of(75);
  const std::vector<std::int64_t> ids = text::make_byte_tokenizer()->encode(text);
  constexpr std::int64_t kMasked = 32;
  for (const std::int64_t context : {4, 8, 16}) {
    double nats = 0.0;
    std::int64_t tokens = 0;
    for (std::int64_t window = 0; window * kMasked < 75; ++window) {
      const std::int64_t length = std::min<std::int64_t>(kMasked, 75 - window * kMasked);
      const at::Tensor shown = at::tensor(ids, at::kLong).narrow(0, window * kMasked, length).unsqueeze(0);
      const data::Batch batch = data::masked_batch(shown, masking(), window, 0);
      tokens += batch.labels.ne(-100).sum().item<std::int64_t>();
      for (std::int64_t begin = 0; begin < length; begin += context) {
        const std::int64_t own = std::min(context, length - begin);
        const at::Tensor inputs = batch.input_ids.narrow(1, begin, own);
        const at::Tensor scores = model->logits(models::ModelInput{inputs, {}, {}, {}, {}}).squeeze(0);
        const at::Tensor labels = batch.labels.squeeze(0).narrow(0, begin, own);
        nats += at::cross_entropy_loss(scores, labels, {}, at::Reduction::Sum, -100).item<double>();
      }
    }
    EvaluateOptions asked = options(64);
    asked.context = context;
    asked.mask_window = kMasked;
    const MaskedResult found = evaluated(text, asked);
    EXPECT_EQ(found.tokens, tokens) << context;
    // float32 scores, summed in another order
    EXPECT_NEAR(found.loss, nats / static_cast<double>(tokens), 1e-5) << context;
  }
}

TEST(EvaluateMasked, WhatCannotBeEvaluatedIsAnError) {
  EvaluateOptions uneven = options(64);
  uneven.mask_window = 24;
  test::expect_error(ErrorKind::kArgument, {"mask_window", "multiple", "16", "24"},
                     [&] { evaluated("some text", uneven); });
  test::expect_error(ErrorKind::kArgument, {"at least one token"}, [] { evaluated("", options(1)); });
  test::expect_error(ErrorKind::kUnsupported, {"decoder"},
                     [] { evaluate_masked(encoder(true), *text::make_byte_tokenizer(), "text", masking()); });
}

}  // namespace
}  // namespace weft::training
