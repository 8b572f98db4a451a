// SPDX-License-Identifier: Apache-2.0
// The position-wise feed-forward layer.
#include "weft/layers/feed_forward.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>

#include "weft/attention/devices/device_work.h"
#include "weft/layers/dropout.h"
#include "weft/layers/precision.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

/// Whether the wide rows are computed again in the backward pass. Of what a layer of a BERT keeps for it they are 44%,
/// and of its products 22%: a GPU, whose steps wait for its memory and have a limit there, computes; a CPU keeps.
bool computes_again(const at::Tensor& x) {
  return at::GradMode::is_enabled() && attention::has_own_memory(x.device()) && !is_recomputing();
}

}  // namespace

FeedForwardImpl::FeedForwardImpl(const BlockConfig& config, const at::TensorOptions& options)
    : activation_(parse_activation(config.activation)),
      chunk_(config.feed_forward_chunk),
      dropout_(config.inner_dropout) {
  const std::int64_t wide = config.intermediate_size * (is_gated(activation_) ? 2 : 1);
  up = register_module(
      "up", Linear(config.hidden_size, wide, config.feed_forward_up_bias.value_or(config.feed_forward_bias), options));
  down =
      register_module("down", Linear(config.intermediate_size, config.hidden_size, config.feed_forward_bias, options));
}

at::Tensor FeedForwardImpl::forward(const at::Tensor& x, const DropoutSeed& seed) {
  const double dropout = is_training() ? dropout_ : 0.0;
  // The holders are copied: a chunk runs again in the backward pass, long after this call.
  auto rows = [up = up, down = down, activation = activation_, dropout](const at::Tensor& part,
                                                                        const DropoutSeed& its_seed) mutable {
    return down(seeded_dropout(up->activated(part, activation), dropout, its_seed));
  };
  if (chunk_ == 0 || x.dim() < 2 || x.size(-2) <= chunk_) {
    if (!computes_again(x)) {
      return rows(x, seed);
    }
    const auto whole = [rows, seed](const at::Tensor& again) mutable { return rows(again, seed); };
    return recompute(whole, x.to(product_dtype(x)), parameters());  // rounded first: what is kept is half as large
  }
  const std::vector<at::Tensor> leaves = parameters();
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x.split(chunk_, -2)) {
    const DropoutSeed its_seed = dropout_seed(seed, std::ssize(parts), 1);
    parts.push_back(
        recompute([rows, its_seed](const at::Tensor& again) mutable { return rows(again, its_seed); }, part, leaves));
  }
  return at::cat(parts, -2);
}

}  // namespace weft::layers
