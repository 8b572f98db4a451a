// SPDX-License-Identifier: Apache-2.0
// What the loss and recomputation promise about memory, measured at LibTorch's allocator.
#include <gtest/gtest.h>

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "support/torch_memory.h"
#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

using testing::peak_tensor_bytes;

constexpr std::int64_t kMegabyte = 1 << 20;

TEST(Memory, LossOf16kTokensNeverHoldsTheirLogits) {
  constexpr std::int64_t kTokens = 16384;
  constexpr std::int64_t kVocabulary = 8192;  // all logits would take 512 MB
  const at::Tensor hidden = at::randn({kTokens, 8}).requires_grad_(true);
  const at::Tensor weight = at::randn({kVocabulary, 8}).requires_grad_(true);
  const at::Tensor labels = at::randint(kVocabulary, {kTokens}, at::TensorOptions().dtype(at::kLong));
  const auto peak = [&](std::int64_t chunk) {
    return peak_tensor_bytes([&] {
      weight.mutable_grad().reset();
      hidden.mutable_grad().reset();
      linear_cross_entropy(hidden, {weight, {}}, labels, chunk).backward();
    });
  };
  EXPECT_LE(peak(0), 60 * kMegabyte);  // a chunk of logits is 16 MB, its softmax another 16
  EXPECT_LE(peak(32), 6 * kMegabyte);  // 1 MB of logits, 0.25 of weight gradients, 0.5 of hidden ones
}

TEST(Memory, RecomputationHoldsOneLayerAtATime) {
  const at::Tensor x = at::randn({1024, 64}).requires_grad_(true);
  const at::Tensor weight = at::randn({64, 64}).requires_grad_(true);
  const auto layer = [&](const at::Tensor& in) {
    at::Tensor out = in;
    for (int i = 0; i < 8; ++i) {
      out = apply_linear(out, weight, {}).tanh();
    }
    return out;
  };
  const auto peak = [&](bool again) {
    return peak_tensor_bytes([&] {
      at::Tensor out = x;
      for (int i = 0; i < 6; ++i) {
        out = again ? recompute(layer, out, {weight}) : layer(out);
      }
      out.sum().backward();
    });
  };
  EXPECT_LT(3 * peak(true), peak(false));
}

}  // namespace
}  // namespace weft::layers
