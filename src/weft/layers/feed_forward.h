// SPDX-License-Identifier: Apache-2.0
// The position-wise feed-forward layer: down(activation(up(x))).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/activation.h"
#include "weft/layers/block_config.h"
#include "weft/layers/linear.h"

namespace weft::layers {

/// down(dropout(activation(up(x)))), each row of x on its own (Vaswani et al. 2017, section 3.3; gated: Shazeer 2020).
class FeedForwardImpl : public torch::nn::Module {
 public:
  FeedForwardImpl(const BlockConfig& config, const at::TensorOptions& options);
  /// [..., hidden] -> [..., hidden]. In chunks of the config's size over the rows, where it has one: the wide hidden
  /// states of one chunk exist at a time, in the backward pass too, which computes them again; so it does on a GPU for
  /// rows that are no chunks. `seed`: of the dropout inside.
  at::Tensor forward(const at::Tensor& x, const DropoutSeed& seed = {});

  Linear up{nullptr};    ///< hidden -> intermediate; twice that for a gated activation, the gate first
  Linear down{nullptr};  ///< intermediate -> hidden

 private:
  Activation activation_;
  std::int64_t chunk_;
  double dropout_;
};
TORCH_MODULE(FeedForward);

}  // namespace weft::layers
