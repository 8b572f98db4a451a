// SPDX-License-Identifier: Apache-2.0
// Cross-attention against the equations, pair by pair, for patterns over texts of different lengths; its padding, its
// gradients, and keys that were projected before.
#include "weft/layers/attention/cross_attention.h"

#include <gtest/gtest.h>

#include <ATen/ops/matmul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "weft/pattern/pattern.h"

namespace weft::layers {
namespace {

const at::TensorOptions kExact(at::kDouble);

BlockConfig cross_block(const std::string& pattern) {
  BlockConfig block;
  block.hidden_size = 12;
  block.heads = 4;
  block.key_value_heads = 2;
  block.maximum_length = 32;
  block.maximum_source_length = 32;
  block.cross_attention = pattern;
  return block;
}

CrossAttention cross_layer(const std::string& pattern, std::int64_t head_size = 0) {
  torch::manual_seed(3);
  BlockConfig block = cross_block(pattern);
  block.head_size = head_size;
  CrossAttention layer(block, kExact);
  const at::NoGradGuard without_gradients;
  for (const at::Tensor& parameter : layer->parameters()) {
    parameter.normal_(0.0, 0.4);
  }
  layer->eval();
  return layer;
}

BlockContext from_source(const at::Tensor& hidden) {
  BlockContext context;
  context.source = std::make_shared<const Source>(Source{.hidden = hidden});
  return context;
}

/// Row `query` of head `head` of text `row`: the sum over the keys that the pattern gives it.
at::Tensor mixed_row(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::vector<double>& multiplicity) {
  at::Tensor total = at::zeros({value.size(1)}, kExact);
  double weight = 0.0;
  for (std::size_t k = 0; k < multiplicity.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    const double score = at::matmul(query, key[at]).item<double>() / std::sqrt(static_cast<double>(query.size(0)));
    const double share = multiplicity[k] * std::exp(score);
    weight += share;
    total = total + value[at] * share;
  }
  return weight > 0.0 ? total / weight : total;
}

/// softmax(Q K^T / sqrt(D) + log multiplicity) V W_O^T, pair by pair. `keys` counts the keys of each text.
at::Tensor by_the_equations(CrossAttention layer, const pattern::Pattern& pattern, const at::Tensor& x,
                            const at::Tensor& source, const std::vector<std::int64_t>& keys) {
  const auto project = [](const Linear& linear, const at::Tensor& y) {
    return at::matmul(y, linear->rows().weight().t()) + linear->rows().bias();
  };
  const at::Tensor queries = project(layer->query, x).view({x.size(0), x.size(1), 4, -1});
  const at::Tensor both = project(layer->key_value, source).view({x.size(0), source.size(1), 2, 2, -1});
  at::Tensor mixed = at::zeros(queries.sizes(), kExact);
  for (std::int64_t row = 0; row < x.size(0); ++row) {
    for (std::int64_t head = 0; head < 4; ++head) {
      const pattern::Site site{.query_length = x.size(1),
                               .key_length = keys[static_cast<std::size_t>(row)],
                               .head = head,
                               .heads = 4,
                               .maximum_length = 32};
      for (std::int64_t query = 0; query < x.size(1); ++query) {
        std::vector<double> multiplicity;
        multiplicity.reserve(static_cast<std::size_t>(site.key_length));
        for (std::int64_t key = 0; key < site.key_length; ++key) {
          multiplicity.push_back(static_cast<double>(pattern.multiplicity(site, query, key)));
        }
        mixed[row][query][head].copy_(mixed_row(queries[row][query][head], both[row].select(1, 0).select(1, head / 2),
                                                both[row].select(1, 1).select(1, head / 2), multiplicity));
      }
    }
  }
  return project(layer->output, mixed.flatten(2));
}

TEST(CrossAttention, EqualsTheEquationsWhereTheTextsDifferInLength) {
  const at::NoGradGuard without_gradients;
  for (const std::string pattern :
       {"full", "window(5)", "causal", "window(3) | global(2)", "strided(4)", "heads(full, window(3), causal, full)",
        "random(3, seed=1)", "block(4, window(3))"}) {
    for (const auto& [queries, keys] : {std::pair<std::int64_t, std::int64_t>{7, 11}, {11, 7}, {1, 9}, {9, 1}}) {
      const CrossAttention layer = cross_layer(pattern);
      const at::Tensor x = at::randn({2, queries, 12}, kExact);
      const at::Tensor source = at::randn({2, keys, 12}, kExact);
      const at::Tensor found = CrossAttention(layer)->forward(x, from_source(source));
      const at::Tensor expected = by_the_equations(layer, pattern::Pattern::parse(pattern), x, source, {keys, keys});
      // float64 sums in another order
      EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12) << pattern << " " << queries << " " << keys;
    }
  }
}

TEST(CrossAttention, HeadsNeedNotFillTheWidth) {
  const at::NoGradGuard without_gradients;
  const CrossAttention layer = cross_layer("full", 5);
  const at::Tensor x = at::randn({2, 4, 12}, kExact);
  const at::Tensor source = at::randn({2, 7, 12}, kExact);
  const at::Tensor found = CrossAttention(layer)->forward(x, from_source(source));
  const at::Tensor expected = by_the_equations(layer, pattern::Pattern::parse("full"), x, source, {7, 7});
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12);
}

TEST(CrossAttention, LeavesOutThePaddingOfTheSource) {
  const at::NoGradGuard without_gradients;
  for (const std::string pattern : {"full", "window(5)"}) {
    CrossAttention layer = cross_layer(pattern);
    const at::Tensor x = at::randn({2, 6, 12}, kExact);
    const at::Tensor source = at::randn({2, 8, 12}, kExact);
    auto padded = std::make_shared<Source>(Source{.hidden = source});
    padded->padding.rows.resize(2);
    padded->padding.rows[1].query_length = 5;
    padded->padding.rows[1].key_length = 5;
    BlockContext context;
    context.source = padded;
    const at::Tensor found = layer->forward(x, context);
    const at::Tensor expected = by_the_equations(layer, pattern::Pattern::parse(pattern), x, source, {8, 5});
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12) << pattern;
    source[1].narrow(0, 5, 3).add_(100.0);
    EXPECT_TRUE(layer->forward(x, context).equal(found)) << pattern;
  }
}

TEST(CrossAttention, HidesTheKeysThatAMaskDrops) {
  const at::NoGradGuard without_gradients;
  CrossAttention layer = cross_layer("full");
  const at::Tensor x = at::randn({1, 3, 12}, kExact);
  const at::Tensor source = at::randn({1, 6, 12}, kExact);
  auto masked = std::make_shared<Source>(Source{.hidden = source});
  masked->padding.key_keep = at::rand({1, 6}).ge(0.0);
  masked->padding.key_keep.select(1, 2).fill_(false);
  BlockContext context;
  context.source = masked;
  const at::Tensor found = layer->forward(x, context);
  const at::Tensor rest = source.index_select(1, at::tensor({0, 1, 3, 4, 5}, at::kLong));
  EXPECT_LT((found - layer->forward(x, from_source(rest))).abs().max().item<double>(), 1e-12);
}

TEST(CrossAttention, GivesTheSameFromKeysThatWereProjectedBefore) {
  const at::NoGradGuard without_gradients;
  CrossAttention layer = cross_layer("window(5)");
  const at::Tensor x = at::randn({2, 6, 12}, kExact);
  const at::Tensor source = at::randn({2, 8, 12}, kExact);
  const at::Tensor whole = layer->forward(x, from_source(source));
  BlockContext context;
  context.source = std::make_shared<const Source>(Source{.hidden = {}, .heads = {layer->project(source)}});
  EXPECT_TRUE(layer->forward(x, context).equal(whole));
  // A query at a time: each knows its position by those before it.
  for (std::int64_t query = 0; query < 6; ++query) {
    context.attention.query_offset = query;
    const at::Tensor one = layer->forward(x.narrow(1, query, 1), context);
    EXPECT_LT((one - whole.narrow(1, query, 1)).abs().max().item<double>(), 1e-12);
  }
}

TEST(CrossAttention, ReadersOfOneTextEachGiveWhatTheyGiveAlone) {
  const at::NoGradGuard without_gradients;
  for (const std::string mechanism : {"full", "linear", "window(5)"}) {
    CrossAttention layer = cross_layer(mechanism);
    const at::Tensor x = at::randn({6, 2, 12}, kExact);
    Source source{.hidden = {}, .heads = {layer->project(at::randn({2, 8, 12}, kExact))}, .readers = 3};
    source.padding.rows.resize(2);
    source.padding.rows[1].key_length = 5;
    BlockContext context;
    context.attention.query_offset = 4;
    context.source = std::make_shared<const Source>(source);
    const at::Tensor together = layer->forward(x, context);
    source.readers = 1;
    Source alone = source.reordered(at::tensor({0, 0, 0, 1, 1, 1}, at::kLong));
    context.source = std::make_shared<const Source>(alone);
    // float64 sums over blocks of other rows
    EXPECT_LT((together - layer->forward(x, context)).abs().max().item<double>(), 1e-12) << mechanism;
  }
}

at::Tensor weights_of(CrossAttention layer, const at::Tensor& x, BlockContext context) {
  context.weights = std::make_shared<CrossWeights>();
  layer->forward(x, context);
  return context.weights->weights;
}

TEST(CrossAttention, HandsOutTheWeightsOfItsSum) {
  CrossAttention layer = cross_layer("heads(full, window(3), causal, full)");
  // More keys than the kernel takes columns at once.
  const at::Tensor x = at::randn({2, 5, 12}, kExact);
  const at::Tensor source = at::randn({2, 300, 12}, kExact);
  auto padded = std::make_shared<Source>(Source{.hidden = source});
  padded->padding.rows.resize(2);
  padded->padding.rows[1].key_length = 9;
  BlockContext context;
  context.source = padded;
  const at::Tensor weights = weights_of(layer, x, context);
  ASSERT_EQ(weights.sizes(), (at::IntArrayRef{2, 4, 5, 300}));
  const at::Tensor values =
      layer->key_value(source).view({2, 300, 2, 2, 3}).select(2, 1).transpose(1, 2).repeat_interleave(2, 1);
  const at::Tensor mixed = layer->output(at::matmul(weights, values).transpose(1, 2).flatten(2));
  EXPECT_LT((mixed - layer->forward(x, context)).abs().max().item<double>(), 1e-12);
  EXPECT_LT((weights.sum(-1) - 1.0).abs().max().item<double>(), 1e-12);
  EXPECT_EQ(weights[1].narrow(-1, 9, 291).abs().max().item<double>(), 0.0);
  // Another layer's weights are not filled in, nor those of a text with several readers.
  context.weights = std::make_shared<CrossWeights>(CrossWeights{.layer = 1});
  layer->forward(x, context);
  EXPECT_FALSE(context.weights->weights.defined());
  context.weights->layer = 0;
  context.source = std::make_shared<Source>(Source{.hidden = source.narrow(0, 0, 1), .readers = 2});
  test::expect_error(ErrorKind::kArgument, {"one reader", "found"}, [&] { layer->forward(x, context); });
}

TEST(CrossAttention, WeightsHaveGradientsAndNoDropout) {
  BlockConfig config = cross_block("full");
  config.attention_dropout = 0.5;
  torch::manual_seed(3);
  CrossAttention layer(config, kExact);
  for (const at::Tensor& parameter : layer->parameters()) {
    const at::NoGradGuard without_gradients;
    parameter.normal_(0.0, 0.4);
  }
  const std::vector<at::Tensor> inputs = {at::randn({1, 3, 12}, kExact), at::randn({1, 4, 12}, kExact)};
  const at::Tensor in_training = weights_of(layer, inputs[0], from_source(inputs[1]));
  layer->eval();
  EXPECT_TRUE(weights_of(layer, inputs[0], from_source(inputs[1])).equal(in_training));
  testing::expect_gradients(
      [&](const std::vector<at::Tensor>& given) { return weights_of(layer, given[0], from_source(given[1])); }, inputs);
}

TEST(CrossAttention, GradientsReachTargetSourceAndParameters) {
  CrossAttention layer = cross_layer("window(5)");
  torch::manual_seed(5);
  std::vector<at::Tensor> inputs = {at::randn({2, 3, 12}, kExact), at::randn({2, 5, 12}, kExact)};
  testing::expect_gradients(
      [&](const std::vector<at::Tensor>& given) { return layer->forward(given[0], from_source(given[1])); }, inputs);
  layer->forward(inputs[0], from_source(inputs[1])).sum().backward();
  for (const auto& parameter : layer->named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST(CrossAttention, SaysWhatItLacks) {
  CrossAttention layer = cross_layer("full");
  const at::Tensor x = at::randn({2, 3, 12}, kExact);
  test::expect_error(ErrorKind::kArgument, {"no source"}, [&] { layer->forward(x, {}); });
  test::expect_error(ErrorKind::kArgument, {"3 texts", "2"},
                     [&] { layer->forward(x, from_source(at::randn({3, 4, 12}, kExact))); });
  BlockConfig second = cross_block("full");
  second.layer = 1;
  BlockContext of_one_layer;
  of_one_layer.source = std::make_shared<const Source>(Source{.hidden = {}, .heads = {layer->project(x)}});
  test::expect_error(ErrorKind::kArgument, {"keys for 1 layers", "layer 1"},
                     [&] { CrossAttention(second, kExact)->forward(x, of_one_layer); });
  test::expect_error(ErrorKind::kArgument, {"2 texts", "row 2"},
                     [&] { of_one_layer.source->reordered(at::tensor({0, 2}, at::kLong)); });
  test::expect_error(ErrorKind::kExpression, {"heads"}, [] { cross_layer("heads(full, full, full)"); });
  test::expect_error(ErrorKind::kUnsupported, {"input"}, [] { cross_layer("window(3) | global(input)"); });
}

}  // namespace
}  // namespace weft::layers
