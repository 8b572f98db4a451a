// SPDX-License-Identifier: Apache-2.0
// Reversible layers against the same sums with an ordinary graph: gradients, dropout, leaves, autocast, memory.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include "support/torch_gradcheck.h"
#include "support/torch_memory.h"
#include "weft/layers/dropout.h"
#include "weft/layers/feed_forward.h"
#include "weft/layers/linear.h"
#include "weft/layers/replay/reversible.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kWidth = 8;

/// One leaf a function and one that all of them share.
struct Deep {
  std::vector<at::Tensor> weights;  // two a layer
  at::Tensor shared;

  Deep(std::int64_t depth, at::ScalarType dtype) : shared(at::randn({kWidth}, dtype).requires_grad_(true)) {
    for (std::int64_t i = 0; i < 2 * depth; ++i) {
      weights.push_back(at::randn({kWidth, kWidth}, dtype).div_(2).requires_grad_(true));
    }
  }

  std::vector<ReversibleLayer> layers() const {
    std::vector<ReversibleLayer> all;
    for (std::size_t i = 0; i < weights.size(); i += 2) {
      const auto function = [bias = shared](const at::Tensor& weight, std::uint64_t seed) {
        return [=](const at::Tensor& x) { return seeded_dropout(apply_linear(x, weight, bias).tanh(), 0.25, seed); };
      };
      all.push_back(
          {function(weights[i], i), function(weights[i + 1], i + 1), {weights[i], shared}, {weights[i + 1], shared}});
    }
    return all;
  }

  std::vector<at::Tensor> leaves() const {
    std::vector<at::Tensor> all = weights;
    all.push_back(shared);
    return all;
  }
};

Streams by_graph(const std::vector<ReversibleLayer>& layers, Streams x) {
  for (const ReversibleLayer& layer : layers) {
    x.first = x.first + layer.f(x.second);
    x.second = x.second + layer.g(x.first);
  }
  return x;
}

/// The gradients of a sum over both streams: of the leaves, then of x.
std::vector<at::Tensor> gradients(const Deep& deep, const at::Tensor& x, bool trick) {
  const auto layers = deep.layers();
  const Streams end = trick ? reversible(layers, {x, x}) : by_graph(layers, {x, x});
  (end.first * end.second).sum().backward();
  std::vector<at::Tensor> leaves = deep.leaves();
  leaves.push_back(x);
  std::vector<at::Tensor> found;
  for (at::Tensor& leaf : leaves) {
    found.push_back(leaf.grad().defined() ? leaf.grad().clone() : at::zeros_like(leaf));
    leaf.mutable_grad().reset();
  }
  return found;
}

double largest_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double scale = std::max(1.0, expected[i].abs().max().item<double>());
    largest = std::max(largest, (found[i] - expected[i]).abs().max().item<double>() / scale);
  }
  return largest;
}

TEST(Reversible, GradientsAreThoseOfTheOrdinaryGraph) {
  torch::manual_seed(4);
  for (const std::int64_t depth : {0, 1, 2, 7}) {
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
      const Deep deep(depth, dtype);
      const at::Tensor x = at::randn({2, 5, kWidth}, dtype).requires_grad_(true);
      // Inputs that are computed again differ by rounding, of some units a layer
      const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
      EXPECT_LT(largest_error(gradients(deep, x, true), gradients(deep, x, false)), tolerance) << depth << dtype;
    }
  }
}

TEST(Reversible, GradientsAreDerivatives) {
  torch::manual_seed(5);
  const Deep deep(2, at::kDouble);
  const auto function = [&](const std::vector<at::Tensor>& in) {
    const Streams end = reversible(deep.layers(), {in[0], in[1]});
    return end.first * 2 + end.second;
  };
  const auto leaf = [] { return at::randn({3, kWidth}, at::kDouble).requires_grad_(true); };
  testing::expect_gradients(function, {leaf(), leaf()});
}

TEST(Reversible, FrozenLeavesAndUnusedStreamsHaveNoGradient) {
  torch::manual_seed(6);
  const Deep deep(2, at::kDouble);
  deep.weights[1].set_requires_grad(false);
  const at::Tensor x = at::randn({3, kWidth}, at::kDouble);
  reversible(deep.layers(), {x, x}).first.sum().backward();
  EXPECT_FALSE(deep.weights[1].grad().defined());
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(deep.weights[0].grad().ne(0).any().item<bool>());
  EXPECT_FALSE(deep.weights[3].grad().ne(0).any().item<bool>());  // the last g changes the other stream alone
}

TEST(Reversible, AutocastIsThatOfTheForwardPass) {
  torch::manual_seed(7);
  const Deep deep(3, at::kFloat);
  const at::Tensor x = at::randn({4, kWidth}).requires_grad_(true);
  const auto under_autocast = [&](bool trick) {
    const auto layers = deep.layers();
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const Streams end = trick ? reversible(layers, {x, x}) : by_graph(layers, {x, x});
    at::autocast::set_autocast_enabled(at::kCPU, false);
    EXPECT_EQ(end.first.scalar_type(), at::kFloat);
    (end.first * end.second).sum().backward();
    const at::Tensor gradient = x.grad().clone();
    x.mutable_grad().reset();
    return gradient;
  };
  // The same roundings to bfloat16, except where an input that is computed again falls to the other side of one
  const at::Tensor expected = under_autocast(false);
  EXPECT_LT((under_autocast(true) - expected).norm().item<double>(), 0.02 * expected.norm().item<double>());
}

TEST(Reversible, MemoryDoesNotGrowWithDepth) {
  constexpr std::int64_t kTokens = 1 << 14;  // 0.5 MB a stream; all leaves and their gradients take 0.03
  const at::Tensor x = at::randn({kTokens, kWidth});
  const auto peak = [&](std::int64_t depth, bool trick) {
    const Deep deep(depth, at::kFloat);
    return testing::peak_tensor_bytes([&] { gradients(deep, x, trick); });
  };
  EXPECT_LT(static_cast<double>(peak(12, true)), 1.05 * static_cast<double>(peak(2, true)));
  EXPECT_GT(peak(12, false), 3 * peak(2, false));
}

TEST(FeedForward, ChunksChangeNothing) {
  torch::manual_seed(8);
  for (const std::string activation : {"gelu", "swiglu"}) {
    BlockConfig config;
    config.hidden_size = kWidth;
    config.intermediate_size = 20;
    config.activation = activation;
    FeedForward whole(config, at::TensorOptions(at::kDouble));
    for (const std::int64_t chunk : {1, 3, 6, 7, 100}) {
      config.feed_forward_chunk = chunk;
      FeedForward chunked(config, at::TensorOptions(at::kDouble));
      std::vector<at::Tensor> expected;
      at::Tensor x = at::randn({2, 7, kWidth}, at::kDouble).requires_grad_(true);
      for (FeedForward layer : {whole, chunked}) {
        const at::NoGradGuard without_gradients;
        std::uint64_t seed = 0;
        for (at::Tensor parameter : layer->parameters()) {
          parameter.copy_(at::randn(parameter.sizes(), at::detail::createCPUGenerator(++seed), at::kDouble));
        }
      }
      const at::Tensor target = at::randn({2, 7, kWidth}, at::kDouble);
      std::vector<std::vector<at::Tensor>> results;
      for (FeedForward layer : {whole, chunked}) {
        layer->zero_grad();
        x.mutable_grad().reset();
        const at::Tensor y = layer(x);
        (y * target).sum().backward();
        results.push_back({y.detach(), x.grad().clone()});
        for (const at::Tensor& parameter : layer->parameters()) {
          results.back().push_back(parameter.grad().clone());
        }
      }
      EXPECT_LT(largest_error(results[1], results[0]), 1e-13) << activation << chunk;  // sums in another order
    }
  }
}

TEST(FeedForward, HoldsOneChunkOfItsWideStates) {
  BlockConfig config;
  config.hidden_size = kWidth;
  config.intermediate_size = 32 * kWidth;
  config.activation = "relu";  // oneDNN's gelu does not take the allocator that counts
  const at::Tensor x = at::randn({1 << 12, kWidth});
  const auto peak = [&](std::int64_t chunk) {
    config.feed_forward_chunk = chunk;
    FeedForward layer(config, at::TensorOptions(at::kFloat));
    return testing::peak_tensor_bytes([&] { layer(x).sum().backward(); });
  };
  EXPECT_LT(8 * peak(64), peak(0));
}

}  // namespace
}  // namespace weft::layers
