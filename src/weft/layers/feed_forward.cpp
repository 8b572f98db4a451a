// SPDX-License-Identifier: Apache-2.0
// The position-wise feed-forward layer.
#include "weft/layers/feed_forward.h"

namespace weft::layers {

FeedForwardImpl::FeedForwardImpl(const BlockConfig& config, const at::TensorOptions& options)
    : activation_(parse_activation(config.activation)) {
  const std::int64_t wide = config.intermediate_size * (is_gated(activation_) ? 2 : 1);
  up = register_module("up", Linear(config.hidden_size, wide, true, options));
  down = register_module("down", Linear(config.intermediate_size, config.hidden_size, true, options));
}

at::Tensor FeedForwardImpl::forward(const at::Tensor& x) { return down(up->activated(x, activation_)); }

}  // namespace weft::layers
