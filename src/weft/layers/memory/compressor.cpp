// SPDX-License-Identifier: Apache-2.0
// Each group of rows as one long row, for a product or a pooling.
#include "weft/layers/memory/compressor.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "weft/core/error.h"
#include "weft/layers/linear.h"

namespace weft::layers {

CompressorImpl::CompressorImpl(const CompressionConfig& config, std::int64_t hidden, const at::TensorOptions& options)
    : config_(config) {
  if (config.kind == "convolution") {
    weight = register_parameter("weight", at::empty({hidden, config.rate * hidden}, options));
    bias = register_parameter("bias", at::empty({hidden}, options));
  }
}

at::Tensor CompressorImpl::forward(const at::Tensor& rows) {
  require(rows.size(1) % config_.rate == 0, "compression: ", rows.size(1), " rows are no multiple of the rate ",
          config_.rate);
  const at::Tensor groups = rows.reshape({rows.size(0), rows.size(1) / config_.rate, config_.rate, rows.size(2)});
  if (config_.kind == "mean") {
    return groups.mean(2);
  }
  return config_.kind == "max" ? groups.amax(2) : apply_linear(groups.flatten(2), weight, bias).to(rows.scalar_type());
}

at::Tensor reconstruction_loss(const SelfAttentionImpl& attention, const at::Tensor& queries, const at::Tensor& old,
                               const at::Tensor& fresh) {
  const at::Tensor query = attention.heads_of_fixed(queries.detach()).query;
  // No scores of [N, n] are kept: the operator computes them again in its backward pass.
  const auto read = [&](const at::Tensor& rows) {
    const Heads heads = attention.heads_of_fixed(rows);
    return at::scaled_dot_product_attention(query, heads.key, heads.value, {}, 0.0, false, std::nullopt,
                                            /*enable_gqa=*/heads.key.size(1) != query.size(1));
  };
  return at::mse_loss(read(fresh), read(old.detach()).detach());
}

}  // namespace weft::layers
