// SPDX-License-Identifier: Apache-2.0
// Finding the spans of a batch, and the head over their boundaries.
#include "weft/models/heads/span_boundary.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <vector>

namespace weft::models {

SpanTokens span_tokens(const at::Tensor& labels) {
  const at::Tensor rows = labels.to(at::kCPU).contiguous();
  const std::int64_t length = labels.size(1);
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> behind;
  std::vector<std::int64_t> place;
  std::vector<std::int64_t> predicted;
  for (std::int64_t row = 0; row < labels.size(0); ++row) {
    const std::int64_t* label = rows.const_data_ptr<std::int64_t>() + row * length;
    const auto is_label = [](std::int64_t value) { return value != layers::kIgnoredLabel; };
    for (std::int64_t begin = 0, end = 0; begin < length; begin = end + 1) {
      begin = std::find_if(label + begin, label + length, is_label) - label;
      end = std::find_if_not(label + begin, label + length, is_label) - label;
      const bool surrounded = begin > 0 && end < length;
      for (std::int64_t i = begin; surrounded && i < std::min(end, begin + kSpanPlaces); ++i) {
        before.push_back(row * length + begin - 1);
        behind.push_back(row * length + end);
        place.push_back(i - begin);
        predicted.push_back(label[i]);
      }
    }
  }
  return {at::tensor(before, at::kLong), at::tensor(behind, at::kLong), at::tensor(place, at::kLong),
          at::tensor(predicted, at::kLong)};
}

SpanBoundaryHeadImpl::SpanBoundaryHeadImpl(const TransformerConfig& config, const at::TensorOptions& options) {
  const std::int64_t width = config.hidden_size;
  places = register_parameter("places", at::empty({kSpanPlaces, width}, options));
  first = register_module("first", layers::Linear(3 * width, width, true, options));
  first_norm =
      register_module("first_norm", layers::Norm(width, layers::NormConfig{.epsilon = config.layer_norm_eps}, options));
  second = register_module("second", layers::Linear(width, width, true, options));
  second_norm = register_module("second_norm",
                                layers::Norm(width, layers::NormConfig{.epsilon = config.layer_norm_eps}, options));
}

at::Tensor SpanBoundaryHeadImpl::forward(const at::Tensor& hidden, const SpanTokens& spans) {
  const at::Tensor both = at::cat({hidden.index_select(0, spans.before), hidden.index_select(0, spans.behind),
                                   places.index_select(0, spans.place).to(hidden.scalar_type())},
                                  1);
  const at::Tensor inner = first_norm(layers::activate(first(both), layers::Activation::kGelu));
  return second_norm(layers::activate(second(inner), layers::Activation::kGelu));
}

}  // namespace weft::models
