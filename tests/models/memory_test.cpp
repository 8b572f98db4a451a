// SPDX-License-Identifier: Apache-2.0
// Segments behind a memory: equal to the whole text where the memory holds what a row sees; the same with keys that are
// kept and with keys that are made again; gradients, rows of a batch, later tokens.
#include <gtest/gtest.h>

#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/small_model.h"
#include "support/expect_error.h"
#include "weft/layers/memory/segment_memory.h"

namespace weft::models {
namespace {

using layers::SegmentMemory;
using test::input_of;
using test::make_model;
using test::random_ids;
using test::small_config;

// float32 sums in another order, through two layers of values near 1
constexpr double kSumsInAnotherOrder = 1e-4;

TransformerConfig memory_config(const std::string& attention, std::int64_t memory, const std::string& norm = "pre") {
  TransformerConfig config = small_config();
  config.position_embedding = "none";
  config.attention = {attention};
  config.norm_position = norm;
  config.memory_length = memory;
  return config;
}

ModelInput segment_of(const at::Tensor& ids, const std::shared_ptr<SegmentMemory>& memory) {
  ModelInput input = input_of(ids);
  input.memory = memory;
  return input;
}

/// Hidden states of all tokens, a segment after the other.
at::Tensor by_segments(LanguageModel model, const at::Tensor& ids, std::initializer_list<std::int64_t> pieces) {
  const auto memory = std::make_shared<SegmentMemory>();
  std::vector<at::Tensor> hidden;
  std::int64_t first = 0;
  for (const std::int64_t count : pieces) {
    hidden.push_back(model->hidden_states(segment_of(ids.narrow(1, first, count), memory)));
    first += count;
    EXPECT_EQ(memory->length(), std::min(first, model->config().memory_length));
  }
  return at::cat(hidden, 1);
}

double farthest(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

struct MemoryCase {
  std::string attention;
  std::int64_t memory;
  bool equals_whole;  // the memory holds all that a row sees
  std::string positions = "none";
};

/// With alibi the slopes are those that heads learn.
TransformerConfig memory_config(const MemoryCase& each, const std::string& norm = "pre") {
  TransformerConfig config = memory_config(each.attention, each.memory, norm);
  config.position_embedding = each.positions;
  config.learned_slopes = each.positions == "alibi";
  return config;
}

const std::vector<MemoryCase> kMemories = {{"relative", 40, true},
                                           {"relative(clamp=4, biases=shared)", 64, true},
                                           {"relative(left=5)", 5, true},
                                           {"relative(left=5)", 9, true},
                                           {"relative", 6, false},
                                           {"relative(left=9)", 4, false},
                                           {"span(max=9, ramp=4, init=3)", 6, true},
                                           {"span(max=9, ramp=4, init=3)", 20, true},
                                           {"span(max=9, ramp=4, init=3)", 3, false},
                                           {"window(left=5)", 5, true},
                                           {"window(left=5)", 9, true, "alibi"},
                                           {"window(left=5)", 4, false},
                                           {"heads(window(left=3), window(left=8, dilation=2))", 16, true, "alibi"},
                                           {"causal", 40, true, "alibi"},
                                           {"causal", 6, false},
                                           {"strided(4)", 40, true},
                                           {"strided(4)", 7, false, "alibi"},
                                           {"span(max=9, reaches=2/7, positions=shared)", 7, true},
                                           {"span(max=9, reaches=2/7, positions=shared)", 20, true},
                                           {"span(max=9, reaches=2/7, positions=shared)", 6, false}};

TEST(Memory, SegmentsGiveWhatTheWholeGives) {
  const at::NoGradGuard without_gradients;
  for (const MemoryCase& each : kMemories) {
    for (const std::string norm : {"pre", "post"}) {
      LanguageModel model = make_model(memory_config(each, norm));
      const at::Tensor ids = random_ids(2, 33);
      const at::Tensor whole = model->hidden_states(input_of(ids));
      for (const auto& pieces : {std::initializer_list<std::int64_t>{33}, {1, 7, 1, 13, 11}, {17, 16}}) {
        const double difference = farthest(by_segments(model, ids, pieces), whole);
        const bool one = pieces.size() == 1;
        EXPECT_EQ(difference < kSumsInAnotherOrder, each.equals_whole || one)
            << each.attention << " memory " << each.memory << " " << norm << ": " << difference;
      }
    }
  }
}

// Evaluation keeps keys and values, training makes them again from the inputs of the layers.
TEST(Memory, KeptKeysAreThoseOfTheInputs) {
  for (const MemoryCase& each : kMemories) {
    LanguageModel model = make_model(memory_config(each));
    const at::Tensor ids = random_ids(3, 60);
    const at::Tensor labels = random_ids(3, 60);
    const auto memory = std::make_shared<SegmentMemory>();
    layers::DecodingState state = model->initial_state();
    std::int64_t first = 0;
    for (const std::int64_t count : {7, 1, 12, 1, 1, 3, 35}) {
      const at::Tensor shown = ids.narrow(1, first, count);
      const at::Tensor targets = labels.narrow(1, first, count);
      const double loss = model->loss(segment_of(shown, memory), targets).item<double>();
      const TokenScores scores = model->token_scores(shown, targets, state);
      EXPECT_NEAR(scores.nats.mean().item<double>(), loss, kSumsInAnotherOrder) << each.attention << " from " << first;
      first += count;
      EXPECT_EQ(state.length(), first);
    }
  }
}

TEST(Memory, DecodesTokenByTokenBehindALimitedState) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(memory_config("relative", 11));
  const at::Tensor ids = random_ids(2, 200);
  layers::DecodingState state = model->initial_state();
  at::Tensor logits = model->decode(ids.narrow(1, 0, 150), state);
  const std::size_t bytes = state.bytes();
  for (std::int64_t at = 150; at < 200; ++at) {
    logits = model->decode(ids.narrow(1, at, 1), state);
  }
  EXPECT_LE(state.bytes(), bytes);
  layers::DecodingState loaded = model->initial_state();
  loaded.load(state.save());
  EXPECT_EQ(loaded.length(), 200);
  const at::Tensor more = random_ids(2, 3);
  EXPECT_EQ(farthest(model->decode(more, loaded), model->decode(more, state)), 0.0);
  test::expect_error(ErrorKind::kUnsupported, {"remembers the last 11"}, [&] { state.truncate(50); });
  // All that is left is in the last 11 rows of each layer.
  model->set_memory_length(0, "test");
  EXPECT_GT(farthest(logits, model->logits(input_of(ids)).select(1, 199)), 1e-3);
}

TEST(Memory, RowsAndLaterTokensChangeNothing) {
  const at::NoGradGuard without_gradients;
  LanguageModel model = make_model(memory_config("relative", 8));
  const at::Tensor ids = random_ids(3, 30);
  const at::Tensor together = by_segments(model, ids, {11, 10, 9});
  for (std::int64_t row = 0; row < 3; ++row) {
    const at::Tensor alone = by_segments(model, ids.narrow(0, row, 1), {11, 10, 9});
    EXPECT_LT(farthest(alone, together.narrow(0, row, 1)), kSumsInAnotherOrder);
  }
  at::Tensor changed = ids.clone();
  changed.select(1, 14).add_(1).remainder_(256);
  const at::Tensor after = by_segments(model, changed, {11, 10, 9});
  EXPECT_TRUE(together.narrow(1, 0, 14).equal(after.narrow(1, 0, 14)));
  EXPECT_FALSE(together.select(1, 22).equal(after.select(1, 22))) << "the memory carries it on";
}

// Central differences of the loss along a random direction: through the rows of the memory, too, which themselves are
// constants.
TEST(Memory, GradientsReachTheProjectionsOfItsRows) {
  for (const std::string norm : {"pre", "post"}) {
    LanguageModel model = make_model(memory_config("relative(biases=shared)", 6, norm));
    model->to(at::kDouble);
    const auto before = std::make_shared<SegmentMemory>();
    {
      const at::NoGradGuard without_gradients;
      model->hidden_states(segment_of(random_ids(2, 9), before));
    }
    const at::Tensor ids = random_ids(2, 5);
    const at::Tensor labels = random_ids(2, 5);
    const auto loss = [&] { return model->loss(segment_of(ids, std::make_shared<SegmentMemory>(*before)), labels); };
    const at::Tensor plain = loss();
    model->zero_grad();
    plain.backward();
    std::vector<at::Tensor> gradients;
    double slope = 0.0;
    std::vector<at::Tensor> direction;
    for (const at::Tensor& parameter : model->parameters()) {
      direction.push_back(at::randn_like(parameter));
      gradients.push_back(parameter.grad().clone());
      slope += gradients.back().mul(direction.back()).sum().item<double>();
    }
    const auto moved = [&](double by) {
      const at::NoGradGuard without_gradients;
      std::size_t i = 0;
      for (at::Tensor& parameter : model->parameters()) {
        parameter.add_(direction[i++], by);
      }
    };
    constexpr double kStep = 1e-6;
    moved(kStep);
    const double above = loss().item<double>();
    moved(-2 * kStep);
    const double below = loss().item<double>();
    moved(kStep);
    EXPECT_NEAR(slope, (above - below) / (2 * kStep), 1e-5 * std::max(1.0, std::abs(slope))) << norm;
    model->set_gradient_checkpointing(true);
    model->zero_grad();
    loss().backward();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_TRUE(at::allclose(model->parameters()[i].grad(), gradients[i], 1e-9, 1e-12)) << "recomputed, " << i;
    }
  }
}

TEST(Memory, IsRefusedWhereItMeansNothing) {
  const auto refused = [](TransformerConfig config, std::initializer_list<std::string_view> parts) {
    test::expect_error(ErrorKind::kArgument, parts, [&] { validate(config, "model"); });
  };
  TransformerConfig config = memory_config("window(4)", 8);
  EXPECT_NO_THROW(validate(config, "model"));
  for (const std::string pattern : {"window(4) | global(1)", "ring(4)", "circle(left=1)", "block(4, window(3))",
                                    "heads(window(4), fixed(8, 2))", "etc(global=1, window=4)", "random(2)"}) {
    config.attention = {pattern};
    refused(config, {"layer 0", concat("`", pattern, "`"), "memory", "relative"});
  }
  config.attention = {"relative", "linear"};
  refused(config, {"layer 1", "`linear`", "memory"});
  config = memory_config("relative", 8);
  config.is_decoder = false;
  refused(config, {"memory_length", "is_decoder"});
  config = memory_config("span(max=8)", 8);
  config.position_embedding = "rotary";
  refused(config, {"memory_length", "none or alibi", "rotary"});
  LanguageModel model = make_model(memory_config("relative", 8));
  const auto memory = std::make_shared<SegmentMemory>();
  model->hidden_states(segment_of(random_ids(2, 4), memory));
  test::expect_error(ErrorKind::kArgument, {"2 rows", "3"},
                     [&] { model->hidden_states(segment_of(random_ids(3, 4), memory)); });
  ModelInput padded = segment_of(random_ids(2, 4), memory);
  padded.attention_mask = at::ones({2, 4}, at::kBool);
  padded.attention_mask[0][0] = false;
  test::expect_error(ErrorKind::kArgument, {"padding"}, [&] { model->hidden_states(padded); });
  LanguageModel other = make_model(small_config());
  test::expect_error(ErrorKind::kArgument, {"--memory", "none or alibi", "rotary"},
                     [&] { other->set_memory_length(9, "--memory"); });
}

}  // namespace
}  // namespace weft::models
