// SPDX-License-Identifier: Apache-2.0
// Star-Transformers in float32 and bfloat16, whose rings the kernels of a CPU compute, against float64, which operators
// over whole tensors compute; and what the ring refuses.
#include "weft/layers/blocks/ring_attention.h"

#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "support/expect_error.h"
#include "support/layers/star_transformer.h"

namespace weft::test {
namespace {

using testing::StarConfig;
using testing::StarTransformer;

constexpr StarConfig kRingStar{.hidden_size = 24, .heads = 3, .head_dim = 8, .layers = 2};

/// Both kinds of nodes, and the gradients of the embeddings and all parameters for one direction.
std::vector<at::Tensor> ring_results(at::ScalarType type, const at::Tensor& embeddings, const at::Tensor& keep) {
  at::manual_seed(6);
  StarTransformer model(kRingStar, at::TensorOptions(at::kDouble));
  {
    const at::NoGradGuard without_gradients;
    for (at::Tensor& parameter : model->parameters()) {
      parameter.copy_(at::randn(parameter.sizes(), at::kFloat) * 0.3);
    }
    model->to(type);
  }
  const at::Tensor inputs = embeddings.clone().to(type).requires_grad_();
  const testing::StarNodes nodes = model(inputs, keep);
  const at::Tensor both = at::cat({nodes.satellites, nodes.relay.unsqueeze(1)}, 1);
  const at::Tensor direction = at::arange(both.numel(), at::kDouble).sin().view(both.sizes());
  (both.to(at::kDouble) * direction).sum().backward();
  std::vector<at::Tensor> results{both.detach(), inputs.grad()};
  for (const at::Tensor& parameter : model->parameters()) {
    results.push_back(parameter.grad());
  }
  return results;
}

TEST(RingAttention, IsThatOfFloat64WithAndWithoutPadding) {
  at::manual_seed(3);
  const at::Tensor embeddings = at::randn({3, 20, 24});
  const at::Tensor keep = at::arange(20).unsqueeze(0) < at::tensor({20, 7, 1}).unsqueeze(1);
  for (const at::Tensor& kept : {at::Tensor(), keep}) {
    const std::vector<at::Tensor> exact = ring_results(at::kDouble, embeddings, kept);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const double bound = type == at::kFloat ? 1e-5 : 0.06;  // of bfloat16: projections of two layers, each rounded
      const std::vector<at::Tensor> found = ring_results(type, embeddings, kept);
      // Gradients of bfloat16 jump with the signs before a leaky ReLU: the kernel's own tests hold them.
      const std::size_t compared = type == at::kFloat ? exact.size() : 1;
      for (std::size_t i = 0; i < compared; ++i) {
        const double most = exact[i].abs().max().item<double>();
        EXPECT_LT((found[i].to(at::kDouble) - exact[i]).abs().max().item<double>(), bound * most + 1e-7)
            << type << ", result " << i;
      }
    }
  }
}

layers::RingRows some_ring(at::ScalarType type) {
  return {at::randn({2, 5, 8}).to(type),
          at::randn({2, 5, 16}).to(type),
          at::randn({2, 5, 16}).to(type),
          at::randn({2, 1, 16}).to(type),
          {}};
}

TEST(RingAttention, HasNoSecondDerivative) {
  layers::RingRows rows = some_ring(at::kFloat);
  rows.queries.requires_grad_();
  if (!layers::takes_ring(rows, 2)) {
    GTEST_SKIP() << "WEFT_ISA has no kernel";
  }
  const at::Tensor sum = layers::ring_attention(rows, 2).sum();
  expect_error(ErrorKind::kUnsupported, {"ring", "no second derivative"},
               [&] { torch::autograd::grad({sum}, {rows.queries}, {}, true, true); });
}

TEST(RingAttention, TakesRowsOfOneDtypeOnlyAndSomeOfThem) {
  EXPECT_FALSE(layers::takes_ring(some_ring(at::kDouble), 2));
  EXPECT_FALSE(layers::takes_ring(some_ring(at::kHalf), 2));
  layers::RingRows mixed = some_ring(at::kFloat);
  mixed.relay = mixed.relay.to(at::kBFloat16);
  EXPECT_FALSE(layers::takes_ring(mixed, 2));
  layers::RingRows empty = some_ring(at::kFloat);
  for (at::Tensor* const rows : {&empty.queries, &empty.own, &empty.text}) {
    *rows = rows->narrow(1, 0, 0);
  }
  EXPECT_FALSE(layers::takes_ring(empty, 2));
}

TEST(RingAttention, IsTheSameWithoutGradients) {
  layers::RingRows rows = some_ring(at::kFloat);
  if (!layers::takes_ring(rows, 2)) {
    GTEST_SKIP() << "WEFT_ISA has no kernel";
  }
  const at::Tensor followed = layers::ring_attention(rows, 2);
  const at::NoGradGuard without_gradients;
  EXPECT_TRUE(layers::ring_attention(rows, 2).equal(followed));
}

}  // namespace
}  // namespace weft::test
