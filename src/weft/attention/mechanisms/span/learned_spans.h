// SPDX-License-Identifier: Apache-2.0
// The learned spans of all layers of a model, for whoever trains, measures or freezes them. Nobody else asks which
// mechanism a layer has.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "weft/attention/mechanisms/span/span_attention.h"

namespace weft::attention {

/// The attention of the layers that learn spans, in the order of the layers; empty where none does.
std::vector<std::shared_ptr<SpanAttention>> span_layers(const torch::nn::Module& model);

/// The mean over the heads of a layer of their spans in tokens, summed over `layers`: what the loss of adaptive span is
/// a multiple of (equation 6 with L mean(z / L)). float64, differentiable. Errors: kArgument without a layer.
at::Tensor sum_of_mean_spans(const std::vector<std::shared_ptr<SpanAttention>>& layers);

/// The mean over all heads and layers, in tokens, and the largest: without a gradient.
struct SpanSummary {
  double mean = 0.0;
  double largest = 0.0;
};
SpanSummary summarize_spans(const std::vector<std::shared_ptr<SpanAttention>>& layers);

}  // namespace weft::attention
