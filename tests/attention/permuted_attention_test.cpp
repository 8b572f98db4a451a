// SPDX-License-Identifier: Apache-2.0
// Several orders of rows against one softmax over the scores of all parts, written out.
#include "weft/attention/permuted/permuted_attention.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "attention/small_calls.h"
#include "support/expect_error.h"
#include "weft/attention/permuted/row_order.h"

namespace weft::test {
namespace {

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

}  // namespace
}  // namespace weft::test
