// SPDX-License-Identifier: Apache-2.0
// Segments behind a compressed memory: equal to a model that is given the same rows as a plain memory; the same token
// by token; what learns from the reconstruction loss.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "models/small_model.h"
#include "support/expect_error.h"
#include "weft/layers/decoding_state.h"
#include "weft/layers/memory/segment_memory.h"

namespace weft::models {
namespace {

using layers::SegmentMemory;
using test::input_of;
using test::make_model;
using test::random_ids;

constexpr double kSegmentSums = 1e-4;  // float32, sums in another order

/// A memory of 5 tokens, 4 rows of 3 tokens each before it, and segments of 8 tokens.
TransformerConfig compressive_config(const std::string& compression, const std::string& norm) {
  TransformerConfig config = test::small_config();
  config.position_embedding = "none";
  config.attention = {"relative"};
  config.norm_position = norm;
  config.memory_length = 5;
  config.compressed_memory_length = 4;
  config.compression = compression;
  config.compression_rate = 3;
  config.max_position_embeddings = 8;
  return config;
}

ModelInput behind(const at::Tensor& ids, const std::shared_ptr<SegmentMemory>& memory) {
  ModelInput input = input_of(ids);
  input.memory = memory;
  return input;
}

/// Logits of all tokens in segments of 8.
at::Tensor in_segments(LanguageModel model, const at::Tensor& ids) {
  const auto memory = std::make_shared<SegmentMemory>();
  std::vector<at::Tensor> logits;
  for (std::int64_t begin = 0; begin < ids.size(1); begin += 8) {
    const std::int64_t count = std::min<std::int64_t>(8, ids.size(1) - begin);
    logits.push_back(model->logits(behind(ids.narrow(1, begin, count), memory)));
  }
  return at::cat(logits, 1);
}

TEST(CompressiveMemory, RowsLeaveAndAreCompressedInTime) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(compressive_config("mean", "post"));
  const auto memory = std::make_shared<SegmentMemory>();
  // 8 tokens, 3 of which leave as one row; then 8 + 5, and 6 leave as two; 7 + 8 ...
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {{5, 1}, {7, 3}, {6, 4}, {5, 4}, {7, 4}};
  for (const auto& [tokens, rows] : expected) {
    model->hidden_states(behind(random_ids(2, 8), memory));
    EXPECT_EQ(memory->length(), tokens);
    EXPECT_EQ(memory->compressed.front().size(1), rows);
    EXPECT_EQ(memory->rows(), tokens + rows);
  }
}

TEST(CompressiveMemory, EqualsAPlainMemoryOfTheSameRows) {
  const at::NoGradGuard without_gradients;
  for (const std::string norm : {"pre", "post"}) {
    TransformerConfig config = compressive_config("mean", norm);
    LanguageModel model = make_model(config);
    config.compressed_memory_length = 0;
    config.memory_length = 1000;
    LanguageModel plain = make_model(config);  // a mean has no weights: the two have the same ones
    const auto memory = std::make_shared<SegmentMemory>();
    std::vector<at::Tensor> compressed(2);
    std::vector<at::Tensor> tokens(2);
    for (int segment = 0; segment < 5; ++segment) {
      const at::Tensor ids = random_ids(2, 8);
      const auto given = std::make_shared<SegmentMemory>();
      for (std::size_t layer = 0; layer < 2 && segment > 0; ++layer) {
        given->layers.push_back(at::cat({compressed[layer], tokens[layer]}, 1));
      }
      const std::int64_t before = given->length();
      const at::Tensor found = model->hidden_states(behind(ids, memory));
      const at::Tensor expected = plain->hidden_states(behind(ids, given));
      EXPECT_LT((found - expected).abs().max().item<double>(), kSegmentSums) << norm << " segment " << segment;
      for (std::size_t layer = 0; layer < 2; ++layer) {
        // The plain memory has kept all: behind the rows given to it lie the inputs of this segment.
        const at::Tensor inputs = given->layers[layer].narrow(1, before, 8);
        at::Tensor held = segment == 0 ? inputs : at::cat({tokens[layer], inputs}, 1);
        const std::int64_t rows = (held.size(1) - 5) / 3;
        std::vector<at::Tensor> parts;
        if (segment > 0) {
          parts.push_back(compressed[layer]);
        }
        for (std::int64_t i = 0; i < rows; ++i) {
          parts.push_back(held.narrow(1, 3 * i, 3).mean(1, true));
        }
        const at::Tensor all = at::cat(parts, 1);
        const std::int64_t kept = std::min<std::int64_t>(4, all.size(1));
        compressed[layer] = all.narrow(1, all.size(1) - kept, kept);
        tokens[layer] = held.narrow(1, 3 * rows, held.size(1) - 3 * rows);
      }
    }
  }
}

TEST(CompressiveMemory, DecodingGivesWhatSegmentsGive) {
  const at::NoGradGuard without_gradients;
  const at::Tensor ids = random_ids(2, 37);
  const std::vector<std::string> windows = {"heads(window(left=6), causal)"};
  for (const std::string compression : {"convolution", "mean", "max", "mean behind windows"}) {
    for (const std::string norm : {"pre", "post"}) {
      TransformerConfig config = compressive_config(compression.substr(0, compression.find(' ')), norm);
      config.attention = compression.ends_with("windows") ? windows : config.attention;
      LanguageModel model = make_model(config);
      const at::Tensor expected = in_segments(model, ids);
      for (const std::int64_t first : {1, 8, 11, 30}) {
        layers::DecodingState state = model->initial_state();
        at::Tensor found = model->decode(ids.narrow(1, 0, first), state);
        for (std::int64_t i = first; i < 37; ++i) {
          EXPECT_LT((found - expected.select(1, i - 1)).abs().max().item<double>(), kSegmentSums)
              << compression << " " << norm << ", token " << i << " behind a prompt of " << first;
          found = model->decode(ids.narrow(1, i, 1), state);
        }
        EXPECT_LE(state.length(), 4 + 7 + 8) << "rows, not tokens";
      }
      at::Tensor changed = ids.clone();
      changed.narrow(1, 20, 17).copy_(random_ids(2, 17));
      EXPECT_TRUE(in_segments(model, changed).narrow(1, 0, 20).equal(expected.narrow(1, 0, 20)));
    }
  }
}

TEST(CompressiveMemory, ABatchChangesNothing) {
  const at::NoGradGuard without_gradients;
  const at::Tensor ids = random_ids(3, 45);
  for (const std::string compression : {"convolution", "max"}) {
    LanguageModel model = make_model(compressive_config(compression, "pre"));
    const at::Tensor together = in_segments(model, ids);
    for (const std::int64_t row : {0, 1, 2}) {
      const at::Tensor alone = in_segments(model, ids.narrow(0, row, 1));
      EXPECT_LT((alone[0] - together[row]).abs().max().item<double>(), kSegmentSums) << compression << row;
    }
  }
}

// Rows of the compressed memory are in the dtype of the residual stream: products alone are in half precision.
TEST(CompressiveMemory, Bfloat16IsNearFloat32) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = compressive_config("convolution", "pre");
  config.initializer_range = 0.05;
  LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(2, 60);
  const auto nats = [&] {
    const auto memory = std::make_shared<SegmentMemory>();
    double sum = 0.0;
    for (std::int64_t begin = 0; begin + 8 <= 60; begin += 8) {
      const at::Tensor piece = ids.narrow(1, begin, 8);
      sum += model->token_scores(behind(piece, memory), piece).nats.sum().item<double>();
    }
    return sum / (2 * 56);
  };
  const double exact = nats();
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const double half = nats();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_NEAR(half, exact, 0.02);
  EXPECT_NE(half, exact);
}

TEST(CompressiveMemory, ReversibleLayersHaveOne) {
  TransformerConfig config = compressive_config("convolution", "pre");
  config.residual = "reversible";
  LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(2, 37);
  {
    const at::NoGradGuard without_gradients;
    const at::Tensor expected = in_segments(model, ids);
    layers::DecodingState state = model->initial_state();
    at::Tensor found = model->decode(ids.narrow(1, 0, 11), state);
    for (std::int64_t i = 11; i < 37; ++i) {
      EXPECT_LT((found - expected.select(1, i - 1)).abs().max().item<double>(), kSegmentSums) << "token " << i;
      found = model->decode(ids.narrow(1, i, 1), state);
    }
  }
  model->train();
  const auto memory = std::make_shared<SegmentMemory>();
  at::Tensor total;
  for (const std::int64_t begin : {0, 8, 16}) {
    const at::Tensor piece = ids.narrow(1, begin, 8);
    const at::Tensor loss = model->loss(behind(piece, memory), piece);
    total = total.defined() ? total + loss : loss;
  }
  total.backward();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST(CompressiveMemory, BeamsTakeTheirRowsAlong) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(compressive_config("convolution", "pre"));
  const at::Tensor ids = random_ids(2, 30);
  layers::DecodingState state = model->initial_state();
  model->decode(ids, state);
  state.reorder(at::tensor({1, 1, 0}, at::kLong));
  const at::Tensor next = random_ids(1, 12);
  layers::DecodingState alone = model->initial_state();
  model->decode(ids.narrow(0, 1, 1), alone);
  const at::Tensor expected = model->decode(next, alone);
  EXPECT_LT((model->decode(next.expand({3, 12}), state)[1] - expected[0]).abs().max().item<double>(), kSegmentSums);
  test::expect_error(ErrorKind::kUnsupported, {"compressed memory"}, [&] { state.save(); });
  test::expect_error(ErrorKind::kUnsupported, {"compressed memory"}, [&] { state.truncate(3); });
}

TEST(CompressiveMemory, OnlyTheCompressorLearnsFromReconstruction) {
  const at::Tensor ids = random_ids(2, 16);
  for (const std::string compression : {"convolution", "mean"}) {
    LanguageModel model = make_model(compressive_config(compression, "pre"));
    const auto loss_of = [&](bool training) {
      model->zero_grad();
      model->train(training);  // without dropout
      const auto memory = std::make_shared<SegmentMemory>();
      at::Tensor total;
      for (const std::int64_t begin : {0, 8}) {
        const at::Tensor piece = ids.narrow(1, begin, 8);
        const at::Tensor loss = model->loss(behind(piece, memory), piece);
        total = total.defined() ? total + loss : loss;
      }
      total.backward();
      return total.item<double>();
    };
    const double with = loss_of(true);
    std::vector<at::Tensor> gradients;
    for (const auto& parameter : model->named_parameters()) {
      gradients.push_back(parameter.value().grad().defined() ? parameter.value().grad().clone() : at::Tensor());
      EXPECT_TRUE(gradients.back().defined()) << parameter.key();
    }
    const double without = loss_of(false);
    EXPECT_EQ(with > without, compression == "convolution");
    std::size_t place = 0;
    for (const auto& parameter : model->named_parameters()) {
      const at::Tensor& gradient = parameter.value().grad();
      if (parameter.key().find("compressor") != std::string::npos) {
        EXPECT_FALSE(gradient.defined()) << parameter.key();
        EXPECT_GT(gradients[place].abs().max().item<double>(), 0.0) << parameter.key();
      } else {
        EXPECT_TRUE(gradients[place].equal(gradient)) << parameter.key();
      }
      ++place;
    }
  }
}

TEST(CompressiveMemory, SizesMayChangeAndWhatIsWrongIsSaid) {
  LanguageModel model = make_model(compressive_config("max", "pre"));
  const at::NoGradGuard without_gradients;
  const at::Tensor ids = random_ids(1, 24);
  const at::Tensor small = in_segments(model, ids);
  model->set_memory_length(7, "--memory");
  model->set_compressed_memory_length(9, "--compressed-memory");
  EXPECT_FALSE(in_segments(model, ids).equal(small));
  test::expect_error(ErrorKind::kArgument, {"--memory", "compressed"},
                     [&] { model->set_memory_length(0, "--memory"); });
  TransformerConfig config = compressive_config("max", "pre");
  config.memory_length = 0;
  test::expect_error(ErrorKind::kArgument, {"compressed_memory_length", "memory_length is 0"},
                     [&] { validate(config, "config"); });
  config.compressed_memory_length = 0;
  config.memory_length = 4;
  LanguageModel plain = make_model(config);
  test::expect_error(ErrorKind::kArgument, {"--compressed-memory", "not trained"},
                     [&] { plain->set_compressed_memory_length(4, "--compressed-memory"); });
}

}  // namespace
}  // namespace weft::models
