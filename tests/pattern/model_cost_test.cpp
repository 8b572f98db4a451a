// SPDX-License-Identifier: Apache-2.0
// Costs against counts by hand, against each other, and against a machine whose rates are made up so that the answer is
// known. That predictions meet measurements is bench/'s to show.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/pattern/cost/model_cost.h"

namespace weft::pattern {
namespace {

/// BERT-base.
ModelShape base() {
  ModelShape shape;
  shape.maximum_length = 4096;
  return shape;
}

MachineRates machine() {
  MachineRates rates;
  rates.product_flops = 300e9;
  rates.sparse_flops = 200e9;
  rates.sparse_backward_flops = 150e9;
  rates.dense_flops = 250e9;
  rates.dense_backward_flops = 200e9;
  rates.bandwidth = 20e9;
  return rates;
}

ModelCost cost_of(const std::string& expression, const ModelShape& shape, std::int64_t length,
                  const std::optional<MachineRates>& rates = {}) {
  return sparse_cost(shape, length, layer_works(Pattern::parse(expression), shape, length), rates);
}

TEST(ModelCost, CountsTheOperationsOfTheEncoder) {
  const ModelCost dense = dense_cost(base(), 4096);
  // 12 layers of 2 * 4096 * (4 * 768^2 + 2 * 768 * 3072), and 12 of 4 * 4096^2 * 768: the published 696 and 618 GFLOP.
  EXPECT_DOUBLE_EQ(dense.products.flops, 12.0 * 2 * 4096 * (4.0 * 768 * 768 + 2.0 * 768 * 3072));
  EXPECT_NEAR(dense.products.flops, 696e9, 1e9);
  EXPECT_DOUBLE_EQ(dense.attention.flops, 12.0 * 4 * 4096 * 4096 * 768);
  EXPECT_NEAR(dense.attention.flops, 618e9, 1e9);
  EXPECT_EQ(dense.computed_share, 1);
  EXPECT_FALSE(dense.total.seconds);
  ModelShape with_head = base();
  with_head.vocabulary = 50358;
  EXPECT_NEAR(dense_cost(with_head, 4096).head.flops, 317e9, 1e9);
}

TEST(ModelCost, FollowsTheBlocksOfThePattern) {
  const ModelShape shape = base();
  const ModelCost full = cost_of("full", shape, 4096);
  const ModelCost dense = dense_cost(shape, 4096);
  EXPECT_DOUBLE_EQ(full.attention.flops, dense.attention.flops);
  EXPECT_DOUBLE_EQ(full.attention.bytes, dense.attention.bytes);
  EXPECT_DOUBLE_EQ(full.products.flops, dense.products.flops);
  const ModelCost bigbird = cost_of("bigbird", shape, 4096);
  // Of 64 x 64 blocks a head: two full rows, and 62 rows of at most two global, three window and three random ones.
  EXPECT_NEAR(bigbird.computed_share, (2 * 64 + 62 * 7.5) / 4096, 0.02);
  EXPECT_DOUBLE_EQ(bigbird.attention.flops, bigbird.computed_share * dense.attention.flops);
  EXPECT_DOUBLE_EQ(bigbird.attention.bytes, 12.0 * 4 * 4096 * 768 * 4) << "q, k, v and the output";
}

TEST(ModelCost, TrainingIsThreeProductsForOneAndFiveMoreForTwo) {
  ModelShape shape = base();
  const ModelCost forward = cost_of("window(512)", shape, 2048);
  shape.training = true;
  const ModelCost both = cost_of("window(512)", shape, 2048);
  EXPECT_DOUBLE_EQ(both.products.flops, 3 * forward.products.flops);
  EXPECT_DOUBLE_EQ(both.attention.flops, 3.5 * forward.attention.flops);
  shape.batch = 4;
  EXPECT_DOUBLE_EQ(cost_of("window(512)", shape, 2048).total.flops, 4 * both.total.flops);
}

TEST(ModelCost, CountsParametersAndMemory) {
  ModelShape shape = base();
  const ModelCost found = cost_of("window(64)", shape, 512);
  EXPECT_DOUBLE_EQ(found.parameters, 12.0 * (4.0 * 768 * 768 + 2.0 * 768 * 3072 + 9.0 * 768 + 3072));
  EXPECT_GT(found.inference_bytes, 4 * found.parameters);
  EXPECT_GT(found.training_bytes, 16 * found.parameters);
  shape.element_bytes = 2;
  EXPECT_LT(cost_of("window(64)", shape, 512).inference_bytes, 0.55 * found.inference_bytes);
}

TEST(ModelCost, LayersWithTheirOwnPatternsAreCountedEach) {
  ModelShape shape = base();
  shape.layers = 3;
  const std::vector<LayerWork> works = layer_works(Pattern::parse("global(layer, side=keys)"), shape, 640);
  ASSERT_EQ(works.size(), 3U);
  EXPECT_EQ(works[0].slots, 0);
  EXPECT_EQ(works[1].slots, 12.0 * 640 * 64);
  EXPECT_EQ(works[1].masked, 12.0 * 10);
  const std::vector<LayerWork> equal = layer_works(Pattern::parse("window(5)"), shape, 640);
  EXPECT_EQ(equal[2].slots, equal[0].slots);
  EXPECT_EQ(equal[2].layout_bytes, 0) << "shared with the layer before";
}

TEST(ModelCost, SecondsAreTheLargerOfOperationsAndBytes) {
  MachineRates rates = machine();
  const ModelCost found = dense_cost(base(), 4096, rates);
  EXPECT_DOUBLE_EQ(*found.products.seconds, found.products.flops / 300e9);
  EXPECT_DOUBLE_EQ(*found.attention.seconds, found.attention.flops / 250e9);
  EXPECT_DOUBLE_EQ(*found.total.seconds, *found.products.seconds + *found.attention.seconds);
  rates.bandwidth = 1e6;
  EXPECT_DOUBLE_EQ(*dense_cost(base(), 4096, rates).products.seconds, found.products.bytes / 1e6);
  rates = machine();
  rates.block_seconds = 1e-6;
  rates.masked_seconds = 2e-6;
  const double blocks = 12 * 12 * (64 + 2 * 63);
  const double more = *cost_of("window(64)", base(), 4096, rates).total.seconds -
                      *cost_of("window(64)", base(), 4096, machine()).total.seconds;
  EXPECT_NEAR(more, blocks * 3e-6, 1e-9) << "every block of this window is masked";
}

TEST(ModelCost, CrossoverIsWhereSparseBeginsToWin) {
  const MachineRates rates = machine();
  const auto crossover = [&](const char* expression, const MachineRates& with) {
    return crossover_length(Pattern::parse(expression), base(), with, 8192);
  };
  // Up to 512 tokens the window is everything, at four fifths of the dense rate.
  const std::optional<std::int64_t> window = crossover("window(1024)", rates);
  ASSERT_TRUE(window);
  const auto faster = [&](std::int64_t length) {
    return *cost_of("window(1024)", base(), length, rates).attention.seconds <
           *dense_cost(base(), length, rates).attention.seconds;
  };
  EXPECT_TRUE(faster(*window));
  EXPECT_FALSE(faster(*window - 64));
  EXPECT_EQ(*window % 64, 0);
  EXPECT_FALSE(crossover("full", rates));
  MachineRates quick = rates;
  quick.sparse_flops = 1e15;
  quick.dense_flops = 1;
  EXPECT_EQ(crossover("window(64)", quick), 64);
}

TEST(ModelCost, RefusesShapesAndRatesThatAreNone) {
  ModelShape shape = base();
  shape.heads = 7;
  test::expect_error(ErrorKind::kArgument, {"7 heads", "768"}, [&] { dense_cost(shape, 64); });
  shape = base();
  shape.layers = 0;
  test::expect_error(ErrorKind::kArgument, {"cost: layers", "at least 1"}, [&] { dense_cost(shape, 64); });
  test::expect_error(ErrorKind::kArgument, {"length"}, [&] { dense_cost(base(), 0); });
  MachineRates rates = machine();
  rates.bandwidth = 0;
  test::expect_error(ErrorKind::kArgument, {"rates: bandwidth"}, [&] { dense_cost(base(), 64, rates); });
  test::expect_error(ErrorKind::kArgument, {"`input`"}, [&] { cost_of("longformer(64)", base(), 512); });
  ModelShape bound = base();
  bound.input = {0, 700};
  EXPECT_LT(cost_of("longformer(64)", bound, 512).attention.flops,
            cost_of("longformer(64)", bound, 1024).attention.flops);
  test::expect_error(ErrorKind::kArgument, {"layers of work"}, [&] { sparse_cost(base(), 64, {}); });
}

}  // namespace
}  // namespace weft::pattern
