// SPDX-License-Identifier: Apache-2.0
// Models with reversible residual connections and axial positions: the same numbers as with an ordinary graph,
// decoding, segments behind a memory, memory by depth, rules of the config.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include <memory>
#include <string>
#include <vector>

#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/torch_memory.h"
#include "weft/layers/blocks/plain_block.h"
#include "weft/layers/memory/segment_memory.h"
#include "weft/models/stack/initialize.h"
#include "weft/models/stack/stack.h"

namespace weft::models {
namespace {

using test::input_of;
using test::make_model;
using test::random_ids;
using test::small_config;

TransformerConfig reversible_config(const std::vector<std::string>& attention, const std::string& position) {
  TransformerConfig config = small_config();
  config.num_hidden_layers = 4;
  config.attention = attention;
  while (attention.size() > 1 && config.attention.size() < 4) {  // two in turns
    config.attention.push_back(config.attention[config.attention.size() - 2]);
  }
  config.position_embedding = position;
  config.residual = "reversible";
  return config;
}

/// The stack as its equations say, with a graph of every layer.
at::Tensor unrolled(Stack stack, const at::Tensor& ids, const layers::BlockContext& context, bool joined) {
  at::Tensor first =
      stack->embeddings(layers::EmbeddingsInput{.ids = ids, .first_position = 0, .seed = context.attention.seed});
  at::Tensor second = first;
  for (const layers::Block& each : stack->blocks()) {
    auto& block = dynamic_cast<layers::PlainBlockImpl&>(*each);
    first = first + block.attention_branch(second, context);
    second = second + block.feed_forward_branch(first, context);
  }
  at::Tensor end = joined ? at::cat({first, second}, 2) : (first + second) / 2;
  for (const auto& part : stack->named_children()) {
    if (part.key() == "norm") {
      return part.value()->as<layers::Norm>()->forward(end);
    }
  }
  return end;
}

std::vector<at::Tensor> stack_gradients(Stack stack, const at::Tensor& hidden, const at::Tensor& weights) {
  stack->zero_grad();
  (hidden * weights).sum().backward();
  std::vector<at::Tensor> found = {hidden.detach()};
  for (const at::Tensor& parameter : stack->parameters()) {
    found.push_back(parameter.grad().clone());
  }
  return found;
}

struct ReversibleCase {
  std::vector<std::string> attention;
  std::string position;
  bool tied;
  bool learned_slopes = false;
  std::int64_t tokens = 19;
  bool decoder = true;
};

const std::vector<ReversibleCase> kReversible = {
    {{"window(6)"}, "axial", false},
    {{"linear", "window(4)", "full", "linear"}, "rotary", true},
    {{"relative(biases=shared)"}, "none", false},
    {{"strided(5)"}, "alibi", true},
    {{"strided(5)", "full", "span(max=9, ramp=4, init=2)", "window(4)"}, "alibi", true, true},
    {{"window(6)", "lsh(causal=rank, buckets=4)", "linear", "lsh(causal=rank, window=5)"}, "axial", false},
};

/// What decodes otherwise or not at all: released Reformers, which hash, both kinds, with padding and over several
/// chunks, with rotations of each step, too; and learned spans.
const std::vector<ReversibleCase> kReplayed = {
    {{"block(4, window(left=1))", "lsh(causal=position, buckets=4, rounds=2, chunk=8, multiple=8)"},
     "axial",
     false,
     false,
     61},
    {{"lsh(causal=position, buckets=2x4, rounds=3, chunk=4, seed=step)"}, "axial", false, false, 50},
    {{"block(4, circle(left=1, multiple=2))", "lsh(buckets=8, rounds=2, chunk=8, right=1)"},
     "axial",
     false,
     false,
     61,
     false},
    {{"lsh(buckets=4, rounds=4, chunk=4, seed=step)"}, "learned", true, false, 37, false},
    {{"lsh(causal=rank, buckets=8, window=3, rounds=3)"}, "rotary", true, false, 150},
    {{"span(max=40, ramp=8, init=12)", "span(max=9, ramp=4, init=2)"}, "axial", false, false, 61},
};

std::vector<ReversibleCase> every_reversible_case() {
  std::vector<ReversibleCase> all = kReversible;
  all.insert(all.end(), kReplayed.begin(), kReplayed.end());
  return all;
}

TEST(ReversibleModel, GradientsAreThoseOfTheOrdinaryGraph) {
  for (const ReversibleCase& each : every_reversible_case()) {
    TransformerConfig config = reversible_config(each.attention, each.position);
    config.tie_word_embeddings = each.tied;
    config.learned_slopes = each.learned_slopes;
    config.is_decoder = each.decoder;
    config.hidden_dropout_prob = 0.2;
    config.attention_probs_dropout_prob = 0.1;
    config.chunk_size_feed_forward = 7;
    torch::manual_seed(3);
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
      StackConfig described = stack_config(config);
      for (layers::BlockConfig& block : described.blocks) {
        block.position_dropout = 0.2;
      }
      Stack stack(described, at::TensorOptions(dtype));
      initialize(*stack, {.range = 0.3});
      const at::Tensor ids = random_ids(2, each.tokens);
      layers::BlockContext context;
      context.attention.seed = 99;
      const at::Tensor weights = at::randn({2, each.tokens, config.output_size()}, dtype);
      const auto found = stack_gradients(stack, stack->forward({.ids = ids}, context, false).hidden, weights);
      const auto expected = stack_gradients(stack, unrolled(stack, ids, context, !each.tied), weights);
      EXPECT_TRUE(found[0].equal(expected[0])) << each.attention[0];  // the forward pass is the same
      for (std::size_t i = 1; i < found.size(); ++i) {
        // Inputs that are computed again differ by rounding; float32 has 1e9 times that of float64
        const double tolerance = (dtype == at::kDouble ? 1e-10 : 2e-4) * (1 + expected[i].abs().max().item<double>());
        EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), tolerance) << each.attention[0] << " " << i;
      }
    }
  }
}

// A layer that is computed again has inputs with other last bits, and must find the buckets of the first time. Here
// rows are hashed by the sum of what the norm gives, which is zero but for rounding, so that the last bits decide.
TEST(ReversibleModel, BucketsAreThoseOfTheFirstPass) {
  for (const bool decoder : {true, false}) {
    TransformerConfig config = reversible_config(
        {decoder ? "lsh(causal=position, buckets=4, chunk=4, rounds=4)" : "lsh(buckets=4, chunk=4, rounds=4)"},
        "axial");
    config.num_hidden_layers = 6;
    config.is_decoder = decoder;
    config.tie_word_embeddings = false;
    config.hidden_dropout_prob = 0.2;
    torch::manual_seed(8);
    Stack stack(stack_config(config), at::TensorOptions(at::kDouble));
    initialize(*stack, {.range = 0.3});
    {
      const at::NoGradGuard without_gradients;
      for (const layers::Block& block : stack->blocks()) {
        at::Tensor weight = block->named_parameters()["attention.query_key.weight"];
        weight.copy_(at::randn({weight.size(0), 1}, at::kDouble).expand_as(weight));
      }
    }
    const at::Tensor ids = random_ids(2, 64);
    layers::BlockContext context;
    context.attention.seed = 5;
    const at::Tensor weights = at::randn({2, 64, config.output_size()}, at::kDouble);
    const auto found = stack_gradients(stack, stack->forward({.ids = ids}, context, false).hidden, weights);
    const auto expected = stack_gradients(stack, unrolled(stack, ids, context, true), weights);
    EXPECT_TRUE(found[0].equal(expected[0]));
    for (std::size_t i = 1; i < found.size(); ++i) {
      const double scale = 1 + expected[i].abs().max().item<double>();
      EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), 1e-9 * scale) << decoder << " " << i;
    }
  }
}

TEST(ReversibleModel, DecodesWhatTheWholeGives) {
  const at::NoGradGuard without_gradients;
  for (const ReversibleCase& each : kReversible) {
    TransformerConfig config = reversible_config(each.attention, each.position);
    config.tie_word_embeddings = each.tied;
    config.learned_slopes = each.learned_slopes;
    config.chunk_size_feed_forward = 3;
    config.attention_head_size = 6;
    config.attention_bias = false;
    config.lm_head_bias = true;
    LanguageModel model = make_model(config);
    const at::Tensor ids = random_ids(2, 20);
    const at::Tensor whole = model->logits(input_of(ids));
    layers::DecodingState state = model->initial_state();
    std::int64_t at = 0;
    for (const std::int64_t piece : {5, 1, 1, 8, 1, 1, 3}) {
      const at::Tensor logits = model->decode(ids.narrow(1, at, piece), state);
      at += piece;
      // float32 sums in another order
      EXPECT_LT((logits - whole.select(1, at - 1)).abs().max().item<double>(), 2e-4) << each.attention[0] << at;
    }
  }
}

TEST(ReversibleModel, SegmentsBehindAMemoryGiveWhatTheWholeGives) {
  TransformerConfig config = reversible_config({"relative"}, "none");
  config.memory_length = 40;
  LanguageModel model = make_model(config);
  const at::Tensor ids = random_ids(2, 20);
  const at::NoGradGuard without_gradients;
  const at::Tensor whole = model->hidden_states(input_of(ids));
  for (const bool recording : {false, true}) {  // by the plain loop, and by the function that keeps no activations
    const at::AutoGradMode mode(recording);
    ModelInput input;
    input.memory = std::make_shared<layers::SegmentMemory>();
    std::int64_t at = 0;
    for (const std::int64_t piece : {7, 1, 12}) {
      input.input_ids = ids.narrow(1, at, piece);
      const at::Tensor hidden = model->hidden_states(input);
      EXPECT_LT((hidden - whole.narrow(1, at, piece)).abs().max().item<double>(), 1e-4);
      at += piece;
    }
  }
}

TEST(ReversibleModel, TrainingMemoryDoesNotGrowWithDepth) {
  const at::Tensor ids = random_ids(1, 2048);
  const auto peak = [&](std::int64_t depth, const std::string& residual) {
    TransformerConfig config = reversible_config({"window(16)"}, "rotary");
    config.num_hidden_layers = depth;
    config.residual = residual;
    config.hidden_act = "relu";  // oneDNN's gelu does not take the allocator that counts
    LanguageModel model = make_model(config);
    model->train();
    model->loss(input_of(ids), ids).backward();  // layouts and gradients are there now
    return static_cast<double>(testing::peak_tensor_bytes([&] { model->loss(input_of(ids), ids).backward(); }));
  };
  const double shallow = peak(2, "reversible");
  EXPECT_LT(peak(6, "reversible"), 1.05 * shallow);
  EXPECT_LT(peak(12, "reversible"), 1.1 * shallow);  // a layer's gradients, before they are added: 7 KB of 0.6 MB
  EXPECT_GT(peak(12, "plain"), 3 * peak(2, "plain"));
}

TEST(AxialPositions, AreARowBesideAColumn) {
  TransformerConfig config = small_config();
  config.position_embedding = "axial";
  config.axial_pos_shape = {4, 5};
  config.axial_pos_embds_dim = {6, 10};
  config.max_position_embeddings = 20;
  Stack stack(stack_config(config), at::TensorOptions(at::kDouble));
  initialize(*stack, {.range = 0.3});
  const at::Tensor ids = random_ids(2, 13);
  const at::Tensor found = stack->embeddings(layers::EmbeddingsInput{.ids = ids, .first_position = 7});
  const auto& axial = *stack->embeddings->axial;
  for (std::int64_t i = 0; i < 13; ++i) {
    const at::Tensor expected = stack->embeddings->tokens.index_select(0, ids.select(1, i)) +
                                at::cat({axial.rows[(7 + i) / 5][0], axial.columns[0][(7 + i) % 5]});
    EXPECT_TRUE(found.select(1, i).equal(expected)) << i;
  }
  found.sum().backward();
  EXPECT_EQ(axial.rows.grad().select(2, 0).sum().item<double>(), 26.0);
  EXPECT_EQ(axial.rows.grad()[0].sum().item<double>(), 0.0);  // positions 0 to 4 are not read
}

TEST(AxialPositions, HoldAsManyTokensAsTheirRectangle) {
  const at::NoGradGuard without_gradients;
  TransformerConfig config = small_config();
  config.position_embedding = "axial";
  EXPECT_EQ(position_limit(config), 64);
  config.max_position_embeddings = 33;  // 5 rows of 8
  EXPECT_EQ(position_limit(config), 40);
  LanguageModel model = make_model(config);
  EXPECT_NO_THROW(model->logits(input_of(random_ids(1, 40))));
  test::expect_error(ErrorKind::kArgument, {"axial_pos_shape = 40", "41"},
                     [&] { model->logits(input_of(random_ids(1, 41))); });
  config.max_position_embeddings = 1;
  EXPECT_EQ(position_limit(config), 1);
}

TEST(ReversibleModel, ConfigsThatCannotBeAreRefused) {
  const auto refused = [](std::initializer_list<std::string_view> words, auto&& spoil) {
    TransformerConfig config = small_config();
    config.residual = "reversible";
    config.position_embedding = "axial";
    EXPECT_NO_THROW(validate(config, "here"));
    spoil(config);
    test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "here"); });
  };
  refused({"residual", "'none'"}, [](auto& c) { c.residual = "none"; });
  refused({"residual", "norm_position pre"}, [](auto& c) { c.norm_position = "post"; });
  refused({"gradient_checkpointing", "reversible"}, [](auto& c) { c.gradient_checkpointing = true; });
  refused({"span_boundary_objective", "tie_word_embeddings"}, [](auto& c) {
    c.is_decoder = false;
    c.span_boundary_objective = true;
    c.tie_word_embeddings = false;
  });
  refused({"axial_pos_shape", "two", "1"}, [](auto& c) { c.axial_pos_shape = {64}; });
  refused({"axial_pos_shape", "0"}, [](auto& c) { c.axial_pos_shape = {64, 0}; });
  refused({"axial_pos_shape 7 x 9", "63", "max_position_embeddings 64"}, [](auto& c) { c.axial_pos_shape = {7, 9}; });
  refused({"axial_pos_embds_dim 4 and 11", "16"}, [](auto& c) { c.axial_pos_embds_dim = {4, 11}; });
  refused({"axial_pos_embds_dim", "rotary"}, [](auto& c) {
    c.axial_pos_embds_dim = {4, 12};
    c.position_embedding = "rotary";
  });
  refused({"position_embedding none", "relative"}, [](auto& c) { c.attention = {"relative"}; });
}

}  // namespace
}  // namespace weft::models
