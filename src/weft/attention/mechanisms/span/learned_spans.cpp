// SPDX-License-Identifier: Apache-2.0
// Modules are found in the tree of a model; a layer has at most one that learns spans.
#include "weft/attention/mechanisms/span/learned_spans.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::attention {

std::vector<std::shared_ptr<SpanAttention>> span_layers(const torch::nn::Module& model) {
  std::vector<std::shared_ptr<SpanAttention>> layers;
  for (const auto& module : model.modules(/*include_self=*/false)) {
    if (auto layer = std::dynamic_pointer_cast<SpanAttention>(module); layer != nullptr && layer->learns_spans()) {
      layers.push_back(std::move(layer));
    }
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto& a, const auto& b) { return a->site().layer < b->site().layer; });
  return layers;
}

at::Tensor sum_of_mean_spans(const std::vector<std::shared_ptr<SpanAttention>>& layers) {
  require(!layers.empty(), "attention: no layer of the model learns spans, as `span(max=1024)` does");
  at::Tensor sum;
  for (const auto& layer : layers) {
    const at::Tensor mean = layer->spans().mean();
    sum = sum.defined() ? sum + mean : mean;
  }
  return sum;
}

SpanSummary summarize_spans(const std::vector<std::shared_ptr<SpanAttention>>& layers) {
  require(!layers.empty(), "attention: no layer of the model learns spans, as `span(max=1024)` does");
  const at::NoGradGuard without_gradients;
  std::vector<at::Tensor> all;
  all.reserve(layers.size());
  for (const auto& layer : layers) {
    all.push_back(layer->spans());
  }
  const at::Tensor spans = at::cat(all);
  return {spans.mean().item<double>(), spans.max().item<double>()};
}

}  // namespace weft::attention
