// SPDX-License-Identifier: Apache-2.0
// Several orders of rows against one softmax over the scores of all parts, written out; patterns whose strides are
// computed in columns against the oracle; and tokens decoded in the order of the text against the whole call.
#include "weft/attention/permuted/permuted_attention.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>
#include <ostream>
#include <string>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "support/square_site.h"
#include "weft/attention/mechanism.h"
#include "weft/attention/permuted/row_order.h"
#include "weft/attention/permuted/stride_parts.h"

namespace weft::test {
namespace {

using attention::AttentionContext;
using attention::AttentionImpl;
using attention::PermutedCall;
using attention::PermutedPart;
using attention::rows_at;

constexpr std::int64_t kPermutedLength = 70;  // more than a tile
constexpr std::int64_t kSpare = 5;            // places that no row reads
constexpr std::int64_t kPermutedHeads = 2;

attention::LayoutPtr layout_of_places(std::int64_t queries, std::int64_t keys) {
  pattern::Site site;
  site.query_length = queries;
  site.key_length = keys;
  site.heads = kPermutedHeads;
  return attention::cached_layout(pattern::Pattern::parse("full"), site, {64, 64});
}

at::Tensor random_orders() { return at::rand({2, kPermutedHeads, kPermutedLength}).argsort(-1, false); }

/// Every row somewhere, rows 0 to 4 once more among the queries, 20 rows once more among the keys, one of 8 keys
/// hidden.
PermutedPart random_part(bool causal) {
  PermutedPart part;
  const at::Tensor order = random_orders();
  part.queries = at::cat({order, at::arange(kSpare).expand({2, kPermutedHeads, kSpare})}, -1);
  part.places = attention::places_of(order);
  part.keys = at::cat({random_orders(), random_orders().narrow(-1, 0, 20)}, -1);
  part.layout = layout_of_places(kPermutedLength + kSpare, part.keys.size(2));
  part.positions.queries = part.queries.to(at::kInt);
  part.positions.keys = part.keys.to(at::kInt).masked_fill(at::rand(part.keys.sizes()) < 0.125, -1);
  part.positions.causal = causal;
  part.positions.not_self = causal;
  return part;
}

PermutedCall random_call(at::ScalarType dtype) {
  at::manual_seed(5);
  PermutedCall call;
  for (at::Tensor* tensor : {&call.query, &call.key, &call.value}) {
    *tensor = at::randn({2, kPermutedHeads, kPermutedLength, 4}, dtype).requires_grad_();
  }
  call.scale = 0.5;
  call.parts = {random_part(true), random_part(false), random_part(true)};
  return call;
}

/// The output of a call, from the scores of all parts side by side.
at::Tensor written_out(const PermutedCall& call) {
  std::vector<at::Tensor> scores;
  std::vector<at::Tensor> values;
  for (const PermutedPart& part : call.parts) {
    at::Tensor own =
        rows_at(call.query, part.queries).matmul(rows_at(call.key, part.keys).transpose(2, 3)) * call.scale;
    const at::Tensor query = part.positions.queries.unsqueeze(-1);
    const at::Tensor key = part.positions.keys.unsqueeze(-2);
    own = part.positions.not_self ? own.masked_fill(query == key, -1e5) : own;
    const at::Tensor hidden = part.positions.causal ? (key < 0).logical_or(key > query) : (key < 0).expand_as(own);
    scores.push_back(rows_at(own.masked_fill(hidden, -std::numeric_limits<double>::infinity()), part.places));
    values.push_back(rows_at(call.value, part.keys));
  }
  return at::cat(scores, -1).softmax(-1).nan_to_num(0.0).matmul(at::cat(values, 2));
}

std::vector<at::Tensor> gradients_of(const PermutedCall& call, const at::Tensor& output) {
  at::manual_seed(9);
  const at::Tensor weight = at::randn(output.sizes(), output.options());
  return torch::autograd::grad({(output * weight).sum()}, {call.query, call.key, call.value});
}

TEST(PermutedAttention, IsOneSoftmaxOverAllParts) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
    const PermutedCall call = random_call(dtype);
    const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
    const at::Tensor output = attention::permuted_attention(call);
    const at::Tensor expected = written_out(call);
    EXPECT_LT((output - expected).abs().max().item<double>(), tolerance);
    const auto found = gradients_of(call, output);
    const auto wanted = gradients_of(call, expected);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LT((found[i] - wanted[i]).abs().max().item<double>(), 20 * tolerance) << i;
    }
  }
}

TEST(PermutedAttention, PartsHaveDistancesAndPaddingOfTheirPlaces) {
  PermutedCall call = random_call(at::kDouble);
  call.parts.resize(2);
  call.parts[0] = {.layout = layout_of_places(kPermutedLength, kPermutedLength)};  // in the order of the text
  call.parts[1].positions = {};
  std::vector<at::Tensor> leaves = {call.query, call.key, call.value};
  std::vector<at::Tensor> scores;
  std::vector<at::Tensor> values;
  for (PermutedPart& part : call.parts) {
    const at::Tensor key = rows_at(call.key, part.keys);
    part.key_keep = at::rand({2, key.size(2)}) < 0.8;
    part.distances = {at::randn({kPermutedHeads, 41}, at::kDouble).requires_grad_(), 20};
    leaves.push_back(part.distances.scores);
    const at::Tensor query = rows_at(call.query, part.queries);
    const at::Tensor distance = at::arange(query.size(2)).unsqueeze(1) - at::arange(key.size(2)).unsqueeze(0);
    const at::Tensor entry = (distance + 20).clamp(0, 40).flatten();
    const at::Tensor added = part.distances.scores.index_select(1, entry).view({1, kPermutedHeads, query.size(2), -1});
    const at::Tensor own = query.matmul(key.transpose(2, 3)) * call.scale + added;
    const at::Tensor hidden = part.key_keep.logical_not().unsqueeze(1).unsqueeze(1);
    scores.push_back(rows_at(own.masked_fill(hidden, -std::numeric_limits<double>::infinity()), part.places));
    values.push_back(rows_at(call.value, part.keys));
  }
  const at::Tensor expected = at::cat(scores, -1).softmax(-1).matmul(at::cat(values, 2));
  const at::Tensor output = attention::permuted_attention(call);
  EXPECT_LT((output - expected).abs().max().item<double>(), 1e-12);
  const at::Tensor weight = at::randn(output.sizes(), output.options());
  const auto found = torch::autograd::grad({(output * weight).sum()}, leaves);
  const auto wanted = torch::autograd::grad({(expected * weight).sum()}, leaves);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_LT((found[i] - wanted[i]).abs().max().item<double>(), 1e-11) << i;
  }
}

TEST(PermutedAttention, ARowThatSeesItselfAloneWeighsPartsExactly) {
  PermutedCall call = random_call(at::kFloat);
  for (PermutedPart& part : call.parts) {
    part.queries = part.keys = part.places = at::arange(kPermutedLength).view({1, 1, -1});
    part.layout = layout_of_places(kPermutedLength, kPermutedLength);
    part.positions.queries = part.positions.keys = at::arange(kPermutedLength, at::kInt).view({1, 1, -1});
    part.positions.causal = part.positions.not_self = true;
  }
  const at::Tensor output = attention::permuted_attention(call);
  const at::Tensor first = call.value.select(2, 0);
  EXPECT_LT((output.select(2, 0) - first).abs().max().item<double>(), 1e-6);
  const auto gradient = torch::autograd::grad({output.select(2, 0).sum()}, {call.value})[0];
  EXPECT_LT((gradient.select(2, 0) - 1.0).abs().max().item<double>(), 1e-6) << "weights of 1/3 beside scores of -1e5";
}

TEST(PermutedAttention, PartsThatDoNotFitAreRefused) {
  PermutedCall call = random_call(at::kFloat);
  call.parts[1].keys = call.parts[1].keys.to(at::kInt);
  expect_error(ErrorKind::kArgument, {"permuted", "int64"}, [&] { attention::permuted_attention(call); });
  call.parts.clear();
  expect_error(ErrorKind::kArgument, {"at least one part"}, [&] { attention::permuted_attention(call); });
}

// Patterns whose strides are computed in columns, against the dense float64 oracle.
constexpr std::int64_t kStrideHeads = 2;
constexpr std::int64_t kStrideWidth = 4;

std::shared_ptr<AttentionImpl> strided_module(const std::string& expression) {
  attention::MechanismSite site;
  site.heads = kStrideHeads;
  site.head_dim = kStrideWidth;
  site.maximum_length = 4096;
  site.incremental = true;
  const auto module = attention::make_attention(expression, site);
  module->eval();
  return module;
}

/// [batch, 2, length, 4] with one head of keys for both heads of queries, in float64.
Tensors strided_tensors(std::int64_t batch, std::int64_t length) {
  const Tensors tensors = random_tensors({batch, kStrideHeads, length, kStrideWidth}, at::kDouble);
  return {tensors.query, tensors.key.narrow(1, 0, 1), tensors.value.narrow(1, 1, 1)};
}

/// Numbers of their own that autograd follows.
Tensors followed(const Tensors& tensors, at::ScalarType dtype) {
  const auto copy = [&](const at::Tensor& tensor) { return tensor.detach().to(dtype, false, true).requires_grad_(); };
  return {copy(tensors.query), copy(tensors.key), copy(tensors.value)};
}

std::vector<at::Tensor> with_gradients(const Tensors& tensors, const at::Tensor& output) {
  at::manual_seed(9);
  const at::Tensor direction = at::randn(output.sizes(), at::kDouble).to(output.scalar_type());
  std::vector<at::Tensor> all = {output.detach()};
  for (const at::Tensor& gradient :
       torch::autograd::grad({(output * direction).sum()}, {tensors.query, tensors.key, tensors.value})) {
    all.push_back(gradient);
  }
  return all;
}

struct ColumnsCase {
  const char* expression;
  std::int64_t length;
  bool is_padded;
  friend std::ostream& operator<<(std::ostream& out, const ColumnsCase& columns) {
    return out << columns.expression << " over " << columns.length << (columns.is_padded ? ", padded" : "");
  }
};

class StridesInColumns : public ::testing::TestWithParam<ColumnsCase> {};

TEST_P(StridesInColumns, EqualTheOracleWithGradients) {
  const auto& [expression, length, is_padded] = GetParam();
  const pattern::Pattern pattern = pattern::Pattern::parse(expression);
  const pattern::Site site = square(length, kStrideHeads);
  ASSERT_TRUE(attention::StrideParts::find(pattern, site)) << "the case tests nothing";
  const auto module = strided_module(expression);
  const Tensors tensors = followed(strided_tensors(is_padded ? 2 : 1, length), at::kDouble);
  AttentionContext context;
  attention::AttentionOptions options;
  if (is_padded) {
    context.key_keep = options.key_keep = at::rand({2, length}) < 0.7;
    context.key_keep[1].narrow(0, 0, 40).fill_(false);
  }
  const auto wanted = with_gradients(
      tensors, attention::dense_oracle(tensors.query, tensors.key, tensors.value, {pattern, site}, options));
  for (const auto& [dtype, tolerance] : {std::pair(at::kDouble, 1e-11), {at::kFloat, 2e-5}, {at::kBFloat16, 0.03}}) {
    const Tensors own = followed(tensors, dtype);
    const auto found = with_gradients(own, module->forward(own.query, own.key, own.value, context));
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].scalar_type(), dtype);
      const double most = 1 + wanted[i].abs().max().item<double>();
      EXPECT_LT((found[i].to(at::kDouble) - wanted[i]).abs().max().item<double>(), tolerance * most)
          << i << " " << dtype;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, StridesInColumns,
                         ::testing::Values(ColumnsCase{"causal & (window(left=40) | stride(64))", 2311, false},
                                           ColumnsCase{"causal & (window(left=9) | stride(37))", 2300, true},
                                           ColumnsCase{"stride(100) | window(3)", 1301, false},
                                           ColumnsCase{"stride(64)", 1088, true},
                                           ColumnsCase{"heads(window(30), stride(31))", 1801, false},
                                           ColumnsCase{"heads(stride(50), stride(50) | global(1))", 1300, true}));

// The state decodes in the order of the text.
TEST(StrideDecoding, EqualsTheWholeCall) {
  for (const char* expression : {"strided(64)", "heads(causal & window(left=30), causal & stride(31))"}) {
    const auto module = strided_module(expression);
    constexpr std::int64_t kWhole = 4003;
    constexpr std::int64_t kPrompt = 3990;
    const Tensors all = random_tensors({1, kStrideHeads, kWhole, kStrideWidth});
    const at::Tensor whole = module->forward(all.query, all.key, all.value, {});
    const auto state = module->initial_state();
    std::int64_t done = 0;
    for (const std::int64_t tokens : {kPrompt, std::int64_t{1}, std::int64_t{1}, kWhole - kPrompt - 2}) {
      AttentionContext context;
      context.query_offset = done;
      const auto piece = [&](const at::Tensor& tensor) { return tensor.narrow(2, done, tokens); };
      const at::Tensor output = module->step(piece(all.query), piece(all.key), piece(all.value), context, *state);
      EXPECT_LT((output - piece(whole)).abs().max().item<double>(), 1e-5) << expression << " at " << done;
      state->advance();
      done += tokens;
    }
  }
}

// A later token reaches no earlier row, and a padded key nobody, whatever it holds.
TEST(StrideParts, WhatIsHiddenReachesNothing) {
  const auto module = strided_module("strided(64)");
  constexpr std::int64_t kLength = 2563;
  const Tensors tensors = followed(strided_tensors(2, kLength), at::kFloat);
  const at::Tensor before = module->forward(tensors.query, tensors.key, tensors.value, {});
  const at::NoGradGuard without_gradients;
  Tensors changed{tensors.query.clone(), tensors.key.clone(), tensors.value.clone()};
  for (const at::Tensor& tensor : {changed.query, changed.key, changed.value}) {
    tensor.narrow(2, kLength - 1, 1).fill_(std::numeric_limits<double>::quiet_NaN());
  }
  const at::Tensor after = module->forward(changed.query, changed.key, changed.value, {});
  EXPECT_TRUE(at::equal(after.narrow(2, 0, kLength - 1), before.narrow(2, 0, kLength - 1)));
  EXPECT_TRUE(at::isnan(after.narrow(2, kLength - 1, 1)).all().item<bool>());
  AttentionContext padded;
  padded.key_keep = at::ones({2, kLength}, at::kBool);
  padded.key_keep.narrow(1, kLength - 1, 1).fill_(false);
  const at::Tensor kept = module->forward(tensors.query, changed.key, changed.value, padded);
  EXPECT_LT((kept - before).narrow(2, 0, kLength - 1).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(at::isfinite(kept).all().item<bool>());
}

// Gradients too: a row that is not finite spoils what it has edges with, and no column beside its own.
TEST(StrideParts, ARowThatIsNaNSpoilsItsOwnEdges) {
  const auto module = strided_module("causal & stride(64)");
  Tensors tensors = random_tensors({1, kStrideHeads, 2563, kStrideWidth});
  tensors.query.select(2, 0).fill_(std::numeric_limits<double>::quiet_NaN());
  for (at::Tensor* tensor : {&tensors.query, &tensors.key, &tensors.value}) {
    tensor->requires_grad_();
  }
  const at::Tensor output = module->forward(tensors.query, tensors.key, tensors.value, {});
  output.sum().backward();
  const at::Tensor spoiled = at::isfinite(tensors.key.grad()).logical_not().any(3).sum({0, 1});
  EXPECT_EQ(spoiled.nonzero().numel(), 1) << "row 0 sees itself alone";
}

}  // namespace
}  // namespace weft::test
