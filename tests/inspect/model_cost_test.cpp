// SPDX-License-Identifier: Apache-2.0
// Costs against counts by hand, against each other, and against a machine whose rates are made up so that the answer is
// known. That predictions meet measurements is bench/'s to show.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/inspect/cost/model_cost.h"

namespace weft::inspect {
namespace {

/// BERT-base.
ModelShape base() {
  ModelShape shape;
  shape.maximum_length = 4096;
  return shape;
}

constexpr double kPairSeconds = 1e-9;

/// Full blocks cost what dense attention costs: a key of a panel is 32 pairs.
MachineRates machine() {
  AttentionRates attention;
  attention.forward.key_seconds = 32 * kPairSeconds;
  attention.forward.masked_key_seconds = 48 * kPairSeconds;
  attention.backward.key_seconds = 80 * kPairSeconds;
  attention.backward.masked_key_seconds = 80 * kPairSeconds;
  attention.dense_forward.pair_seconds = kPairSeconds;
  attention.dense_backward.pair_seconds = 2 * kPairSeconds;
  return {
      .attention = {{"float32", 64, attention}}, .layers = {{"float32", 300e9, 200e9, 20e9}}, .update_seconds = 1e-9};
}

ModelCost cost_of(const std::string& expression, const ModelShape& shape, std::int64_t length,
                  const std::optional<MachineRates>& rates = {}) {
  return sparse_cost(shape, length, layer_works(pattern::Pattern::parse(expression), shape, length), rates);
}

TEST(ModelCost, CountsTheOperationsOfTheEncoder) {
  const ModelCost dense = dense_cost(base(), 4096);
  // 12 layers of 2 * 4096 * (4 * 768^2 + 2 * 768 * 3072), and 12 of 4 * 4096^2 * 768: the published 696 and 618 GFLOP.
  EXPECT_DOUBLE_EQ(dense.inference.products.flops, 12.0 * 2 * 4096 * (4.0 * 768 * 768 + 2.0 * 768 * 3072));
  EXPECT_NEAR(dense.inference.products.flops, 696e9, 1e9);
  EXPECT_DOUBLE_EQ(dense.inference.attention.flops, 12.0 * 4 * 4096 * 4096 * 768);
  EXPECT_NEAR(dense.inference.attention.flops, 618e9, 1e9);
  EXPECT_EQ(dense.computed_share, 1);
  EXPECT_FALSE(dense.inference.total.seconds);
  EXPECT_FALSE(dense.training.total.seconds);
  ModelShape with_head = base();
  with_head.vocabulary = 50358;
  EXPECT_NEAR(dense_cost(with_head, 4096).inference.head.flops, 317e9, 1e9);
}

TEST(ModelCost, FollowsTheBlocksOfThePattern) {
  const ModelShape shape = base();
  const ModelCost full = cost_of("full", shape, 4096);
  const ModelCost dense = dense_cost(shape, 4096);
  EXPECT_DOUBLE_EQ(full.inference.attention.flops, dense.inference.attention.flops);
  EXPECT_DOUBLE_EQ(full.inference.attention.bytes, dense.inference.attention.bytes);
  EXPECT_DOUBLE_EQ(full.inference.products.flops, dense.inference.products.flops);
  const ModelCost bigbird = cost_of("bigbird", shape, 4096);
  // Of 64 x 64 blocks a head: two full rows, and 62 rows of at most two global, three window and three random ones.
  EXPECT_NEAR(bigbird.computed_share, (2 * 64 + 62 * 7.5) / 4096, 0.02);
  EXPECT_DOUBLE_EQ(bigbird.inference.attention.flops, bigbird.computed_share * dense.inference.attention.flops);
  EXPECT_DOUBLE_EQ(bigbird.inference.attention.bytes, 12.0 * 4 * 4096 * 768 * 4) << "q, k, v and the output";
}

TEST(ModelCost, TrainingIsThreeProductsForOneAndFiveMoreForTwo) {
  ModelShape shape = base();
  const ModelCost found = cost_of("window(512)", shape, 2048);
  EXPECT_DOUBLE_EQ(found.training.products.flops, 3 * found.inference.products.flops);
  EXPECT_DOUBLE_EQ(found.training.attention.flops, 3.5 * found.inference.attention.flops);
  EXPECT_DOUBLE_EQ(found.training.states.bytes, 3 * found.inference.states.bytes);
  EXPECT_EQ(found.inference.update.bytes, 0);
  EXPECT_DOUBLE_EQ(found.training.update.bytes, 28 * found.parameters);
  shape.batch = 4;
  const ModelCost four = cost_of("window(512)", shape, 2048);
  EXPECT_DOUBLE_EQ(four.training.total.flops, 4 * found.training.total.flops);
  EXPECT_DOUBLE_EQ(four.training.update.bytes, found.training.update.bytes);
}

TEST(ModelCost, CountsParametersAndMemory) {
  ModelShape shape = base();
  const ModelCost found = cost_of("window(64)", shape, 512);
  EXPECT_DOUBLE_EQ(found.parameters, 12.0 * (4.0 * 768 * 768 + 2.0 * 768 * 3072 + 9.0 * 768 + 3072));
  EXPECT_GT(found.inference_bytes, 4 * found.parameters);
  EXPECT_GT(found.training_bytes, 16 * found.parameters);
  shape.dtype = "bfloat16";
  EXPECT_LT(cost_of("window(64)", shape, 512).inference_bytes, 0.55 * found.inference_bytes);
}

TEST(ModelCost, LayersWithTheirOwnPatternsAreCountedEach) {
  ModelShape shape = base();
  shape.layers = 3;
  const std::vector<LayoutWork> works = layer_works(pattern::Pattern::parse("global(layer, side=keys)"), shape, 640);
  ASSERT_EQ(works.size(), 3U);
  EXPECT_EQ(works[0].slots, 0);
  EXPECT_EQ(works[1].slots, 12.0 * 640 * 64);
  EXPECT_EQ(works[1].partial_blocks, 12.0 * 10);
  const std::vector<LayoutWork> equal = layer_works(pattern::Pattern::parse("window(5)"), shape, 640);
  EXPECT_EQ(equal[2].slots, equal[0].slots);
  EXPECT_EQ(equal[2].layout_bytes, 0) << "shared with the layer before";
}

TEST(ModelCost, SecondsFollowTheRates) {
  const MachineRates rates = machine();
  const ModelCost found = dense_cost(base(), 4096, rates);
  const StepCost& forward = found.inference;
  const StepCost& training = found.training;
  const double pairs = 12.0 * 12 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(*forward.products.seconds, forward.products.flops / 300e9);
  EXPECT_DOUBLE_EQ(*training.products.seconds, forward.products.flops / 300e9 + 2 * forward.products.flops / 200e9);
  EXPECT_DOUBLE_EQ(*forward.attention.seconds, pairs * kPairSeconds);
  EXPECT_DOUBLE_EQ(*training.attention.seconds, 3 * pairs * kPairSeconds);
  EXPECT_DOUBLE_EQ(*training.states.seconds, training.states.bytes / 20e9);
  EXPECT_DOUBLE_EQ(*training.update.seconds, found.parameters * 1e-9);
  EXPECT_DOUBLE_EQ(*training.total.seconds, *training.products.seconds + *training.attention.seconds +
                                                *training.states.seconds + *training.update.seconds);
  EXPECT_NEAR(*cost_of("full", base(), 4096, rates).inference.attention.seconds, *forward.attention.seconds, 1e-9);
}

TEST(ModelCost, MaskedBlocksCostWhatTheirKeysCost) {
  ModelShape shape = base();
  shape.layers = 1;
  const double seconds = *cost_of("window(1)", shape, 4096, machine()).inference.attention.seconds;
  // A diagonal of 64 blocks a head: each of two panels sees 32 keys.
  EXPECT_NEAR(seconds, 12 * 64 * 2 * 32 * 48 * kPairSeconds, 1e-12);
  shape.batch = 3;
  EXPECT_NEAR(*cost_of("window(1)", shape, 4096, machine()).inference.attention.seconds, 3 * seconds, 1e-12);
}

TEST(ModelCost, CrossoverIsWhereSparseBeginsToWin) {
  const MachineRates rates = machine();
  ModelShape shape = base();
  shape.layers = 1;
  const auto crossover = [&](const char* expression, const MachineRates& with) {
    return crossover_length(pattern::Pattern::parse(expression), shape, with, 8192);
  };
  const Crossover window = crossover("window(1024)", rates);
  ASSERT_TRUE(window.inference);
  ASSERT_TRUE(window.training);
  const auto faster = [&](std::int64_t length) {
    return *cost_of("window(1024)", shape, length, rates).inference.attention.seconds <
           *dense_cost(shape, length, rates).inference.attention.seconds;
  };
  EXPECT_TRUE(faster(*window.inference));
  EXPECT_FALSE(faster(*window.inference - 64));
  EXPECT_EQ(*window.inference % 64, 0);
  EXPECT_GT(*window.training, *window.inference) << "backwards a block costs more than its share of dense attention";
  EXPECT_EQ(window.longest, 8192);
  EXPECT_EQ(crossover("axial(50, 50)", rates).longest, 2048) << "a grid of 2,500 positions";
  MachineRates slow = rates;
  slow.attention.front().rates.forward.key_seconds *= 2;
  EXPECT_FALSE(crossover("full", slow).inference);
  slow.attention.front().rates.dense_forward.pair_seconds = 1;
  EXPECT_EQ(crossover("window(64)", slow).inference, 64);
}

TEST(ModelCost, RefusesShapesAndRatesThatAreNone) {
  ModelShape shape = base();
  shape.heads = 7;
  test::expect_error(ErrorKind::kArgument, {"7 heads", "768"}, [&] { dense_cost(shape, 64); });
  shape = base();
  shape.layers = 0;
  test::expect_error(ErrorKind::kArgument, {"cost: layers", "at least 1"}, [&] { dense_cost(shape, 64); });
  test::expect_error(ErrorKind::kArgument, {"length"}, [&] { dense_cost(base(), 0); });
  shape = base();
  shape.dtype = "float16";
  test::expect_error(ErrorKind::kArgument, {"cost: dtype", "float16"}, [&] { dense_cost(shape, 64); });
  shape.dtype = "bfloat16";
  test::expect_error(ErrorKind::kArgument, {"bfloat16", "not measured"}, [&] { dense_cost(shape, 64, machine()); });
  test::expect_error(ErrorKind::kArgument, {"`input`"}, [&] { cost_of("longformer(64)", base(), 512); });
  ModelShape bound = base();
  bound.input = {0, 700};
  EXPECT_LT(cost_of("longformer(64)", bound, 512).inference.attention.flops,
            cost_of("longformer(64)", bound, 1024).inference.attention.flops);
  test::expect_error(ErrorKind::kArgument, {"layers of work"}, [&] { sparse_cost(base(), 64, {}); });
}

}  // namespace
}  // namespace weft::inspect
