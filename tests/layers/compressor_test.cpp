// SPDX-License-Identifier: Apache-2.0
// Compressed rows against the equations, and the attention-reconstruction loss against scores that are written out; its
// gradient reaches the compressor and nothing else.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/torch_gradcheck.h"
#include "weft/layers/blocks/compressive_block.h"
#include "weft/layers/memory/compressor.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kCompressedWidth = 6;
constexpr double kCompressionExact = 1e-12;  // float64

at::Tensor doubles(at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); }

BlockConfig block_config(bool norm_first) {
  BlockConfig config;
  config.hidden_size = kCompressedWidth;
  config.heads = 3;
  config.key_value_heads = 3;
  config.intermediate_size = 4;
  config.attention = "relative";
  config.causal = true;
  config.norm_first = norm_first;
  config.compression = CompressionConfig{"convolution", 2};
  return config;
}

std::shared_ptr<CompressiveBlockImpl> random_block(bool norm_first) {
  const auto block = std::dynamic_pointer_cast<CompressiveBlockImpl>(
      make_block(block_config(norm_first), at::TensorOptions(at::kDouble)));
  const at::NoGradGuard without_gradients;
  for (at::Tensor& parameter : block->parameters()) {
    parameter.normal_();
  }
  return block;
}

TEST(Compressor, RowsAreThoseOfTheEquations) {
  torch::manual_seed(3);
  const at::NoGradGuard without_gradients;
  for (const std::string kind : {"convolution", "mean", "max"}) {
    for (const std::int64_t rate : {1, 3}) {
      Compressor compressor(CompressionConfig{kind, rate}, kCompressedWidth, at::TensorOptions(at::kDouble));
      for (at::Tensor& parameter : compressor->parameters()) {
        parameter.normal_();
      }
      EXPECT_EQ(compressor->parameters().size(), kind == "convolution" ? 2U : 0U);
      const at::Tensor rows = doubles({2, 4 * rate, kCompressedWidth});
      const at::Tensor found = compressor(rows);
      ASSERT_EQ(found.sizes(), at::IntArrayRef({2, 4, kCompressedWidth}));
      for (std::int64_t i = 0; i < 4; ++i) {
        const at::Tensor group = rows.narrow(1, i * rate, rate);
        at::Tensor expected = kind == "mean" ? group.mean(1) : group.amax(1);
        if (kind == "convolution") {
          expected = compressor->bias.expand({2, kCompressedWidth});
          for (std::int64_t t = 0; t < rate; ++t) {
            expected = expected + at::matmul(group.select(1, t),
                                             compressor->weight.narrow(1, t * kCompressedWidth, kCompressedWidth).t());
          }
        }
        EXPECT_LT((found.select(1, i) - expected).abs().max().item<double>(), kCompressionExact) << kind;
      }
    }
  }
  Compressor mean(CompressionConfig{"mean", 3}, kCompressedWidth, at::TensorOptions(at::kDouble));
  test::expect_error(ErrorKind::kArgument, {"4 rows", "rate 3"}, [&] { mean(doubles({1, 4, kCompressedWidth})); });
}

/// What queries read from rows: softmax(q k^T / sqrt(D)) v, head by head, without positions.
at::Tensor read_by_hand(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& queries,
                        const at::Tensor& rows) {
  const auto project = [&](const at::Tensor& x, std::int64_t part) {
    const at::Tensor all = at::matmul(x, weight.narrow(0, part * kCompressedWidth, kCompressedWidth).t()) +
                           bias.narrow(0, part * kCompressedWidth, kCompressedWidth);
    return all.view({x.size(0), x.size(1), 3, kCompressedWidth / 3}).transpose(1, 2);
  };
  const at::Tensor scores =
      at::matmul(project(queries, 0), project(rows, 1).transpose(2, 3)) / std::sqrt(kCompressedWidth / 3.0);
  return at::matmul(at::softmax(scores, -1), project(rows, 2));
}

TEST(Compressor, ReconstructionLossIsTheDifferenceOfWhatIsRead) {
  torch::manual_seed(4);
  for (const bool norm_first : {false, true}) {
    const auto block = random_block(norm_first);
    const at::Tensor x = doubles({2, 5, kCompressedWidth});
    const at::Tensor old = doubles({2, 4, kCompressedWidth});
    const at::Tensor fresh = doubles({2, 2, kCompressedWidth});
    const auto seen = [&](const at::Tensor& rows) { return norm_first ? block->attention_norm(rows) : rows; };
    {
      const at::NoGradGuard without_gradients;
      const at::Tensor weight = block->attention->qkv->rows().weight();
      const at::Tensor bias = block->attention->qkv->rows().bias();
      const at::Tensor difference =
          read_by_hand(weight, bias, seen(x), seen(old)) - read_by_hand(weight, bias, seen(x), seen(fresh));
      EXPECT_NEAR(block->compression_loss(x, old, fresh).item<double>(), difference.square().mean().item<double>(),
                  kCompressionExact);
      EXPECT_NEAR(block->compression_loss(x, old, old).item<double>(), 0.0, kCompressionExact);
    }
    testing::expect_gradients(
        [&](const std::vector<at::Tensor>& given) { return block->compression_loss(x, old, given.front()); }, {fresh});
    block->compression_loss(x, old, block->compressor(old)).backward();
    for (const auto& parameter : block->named_parameters()) {
      const bool learns = parameter.key().starts_with("compressor.");
      EXPECT_EQ(parameter.value().grad().defined(), learns) << parameter.key();
    }
  }
}

}  // namespace
}  // namespace weft::layers
