// SPDX-License-Identifier: Apache-2.0
// The span-boundary objective: which tokens it predicts, its loss against one written out from LibTorch's functions,
// and that it trains what it should and stays out of evaluation.
#include "weft/models/heads/span_boundary.h"

#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tensor.h>

#include "models/small_model.h"
#include "support/expect_error.h"

namespace weft::models {
namespace {

using test::input_of;
using test::make_model;
using test::random_ids;

constexpr std::int64_t kNone = layers::kIgnoredLabel;

std::vector<std::int64_t> numbers(const at::Tensor& tensor) {
  const auto* data = tensor.const_data_ptr<std::int64_t>();
  return {data, data + tensor.numel()};
}

at::Tensor labels_of(const std::vector<std::int64_t>& values, std::int64_t length) {
  return at::tensor(values, at::kLong).view({-1, length});
}

TransformerConfig span_config() {
  TransformerConfig config = test::small_config();
  config.is_decoder = false;
  config.span_boundary_objective = true;
  return config;
}

TEST(SpanTokens, AreRunsWithATokenOnBothSides) {
  const SpanTokens spans = span_tokens(labels_of({kNone, 7, 8, kNone, 9, kNone,   //
                                                  1, kNone, 2, kNone, kNone, 3},  // runs at the ends have one side
                                                 6));
  EXPECT_EQ(numbers(spans.before), (std::vector<std::int64_t>{0, 0, 3, 7}));
  EXPECT_EQ(numbers(spans.behind), (std::vector<std::int64_t>{3, 3, 5, 9}));
  EXPECT_EQ(numbers(spans.place), (std::vector<std::int64_t>{0, 1, 0, 0}));
  EXPECT_EQ(numbers(spans.labels), (std::vector<std::int64_t>{7, 8, 9, 2}));
}

TEST(SpanTokens, NoneAndAll) {
  for (const std::int64_t value : {kNone, std::int64_t{4}}) {
    for (const std::int64_t length : {1, 2, 5}) {
      EXPECT_EQ(span_tokens(at::full({3, length}, value, at::kLong)).labels.numel(), 0) << value << " " << length;
    }
  }
}

TEST(SpanTokens, APlaceBeyondTheTableIsNotPredicted) {
  at::Tensor labels = at::full({1, kSpanPlaces + 12}, 5, at::kLong);
  labels.select(1, 0).fill_(kNone);
  labels.select(1, kSpanPlaces + 11).fill_(kNone);
  EXPECT_EQ(numbers(span_tokens(labels).place).back(), kSpanPlaces - 1);
  EXPECT_EQ(span_tokens(labels).labels.numel(), kSpanPlaces);
}

// The equations with LibTorch's own functions.
at::Tensor expected_loss(LanguageModel model, const at::Tensor& hidden, const SpanTokens& spans) {
  const auto weights = model->named_parameters();
  const auto weight = [&](const std::string& name) { return weights["head.span_boundary." + name]; };
  const at::Tensor flat = hidden.flatten(0, 1);
  const std::int64_t width = flat.size(1);
  const double eps = model->config().layer_norm_eps;
  const at::Tensor both = at::cat({flat.index_select(0, spans.before), flat.index_select(0, spans.behind),
                                   weight("places").index_select(0, spans.place)},
                                  1);
  at::Tensor inner = at::gelu(at::linear(both, weight("first.weight"), weight("first.bias")));
  inner = at::layer_norm(inner, {width}, weight("first_norm.weight"), weight("first_norm.bias"), eps);
  at::Tensor top = at::gelu(at::linear(inner, weight("second.weight"), weight("second.bias")));
  top = at::layer_norm(top, {width}, weight("second_norm.weight"), weight("second_norm.bias"), eps);
  const at::Tensor scores = at::linear(top, weights["embeddings.tokens"], weights["head.bias"]);
  return at::cross_entropy_loss(scores, spans.labels);
}

TEST(SpanBoundary, AddsItsLossInTrainingOnly) {
  LanguageModel model = make_model(span_config());
  model->to(at::kDouble);
  const ModelInput input = input_of(random_ids(3, 20));
  const at::Tensor labels = random_ids(3, 20).masked_fill_(random_ids(3, 20).lt(128), kNone);
  const double without = model->loss(input, labels).item<double>();
  const double spans = expected_loss(model, model->hidden_states(input), span_tokens(labels)).item<double>();
  model->train();
  const at::Tensor loss = model->loss(input, labels);
  // float64 sums in another order
  EXPECT_NEAR(loss.item<double>(), without + spans, 1e-12);
  loss.backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
  EXPECT_GT(model->named_parameters()["head.span_boundary.places"].grad().abs().sum().item<double>(), 0.0);
}

TEST(SpanBoundary, ABatchWithoutSpansAddsNothing) {
  LanguageModel model = make_model(span_config());
  const ModelInput input = input_of(random_ids(2, 6));
  at::Tensor labels = at::full({2, 6}, kNone, at::kLong);
  labels.select(1, 0).fill_(3);
  const float without = model->loss(input, labels).item<float>();
  model->train();
  EXPECT_EQ(model->loss(input, labels).item<float>(), without);
}

TEST(SpanBoundary, IsForEncoders) {
  TransformerConfig config = span_config();
  config.is_decoder = true;
  test::expect_error(ErrorKind::kArgument, {"span_boundary_objective is for encoders"}, [&] { LanguageModel{config}; });
}

}  // namespace
}  // namespace weft::models
