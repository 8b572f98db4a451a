// SPDX-License-Identifier: Apache-2.0
// The span-boundary objective (Joshi et al. 2020, SpanBERT, section 3.2): every token of a masked span is predicted
// from the two tokens around the span and its place in it, so that these two learn to stand for the span.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/linear.h"
#include "weft/layers/linear_cross_entropy.h"
#include "weft/layers/norm.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// Tokens of a span that have a place of their own; later ones are not predicted. SpanBERT's spans have 10 words.
inline constexpr std::int64_t kSpanPlaces = 32;

/// T predicted tokens of spans that have a token on both sides. All int64 [T]; rows of a batch are flattened, b * N +
/// i.
struct SpanTokens {
  at::Tensor before;  ///< index of the token before the span
  at::Tensor behind;  ///< index of the token behind it
  at::Tensor place;   ///< in the span, from 0
  at::Tensor labels;
};

/// The spans of labels int64 [B, N] on the CPU: longest runs of labels other than -100 that touch neither end of a row.
SpanTokens span_tokens(const at::Tensor& labels);

/// y = norm(gelu(W2 norm(gelu(W1 [x_before; x_behind; p_place])))) (equations 1 to 3), scored by the model's own head
/// weights.
class SpanBoundaryHeadImpl : public torch::nn::Module {
 public:
  /// Storage only.
  SpanBoundaryHeadImpl(const TransformerConfig& config, const at::TensorOptions& options);
  /// hidden [B * N, D] -> [T, D].
  at::Tensor forward(const at::Tensor& hidden, const SpanTokens& spans);

  at::Tensor places;  ///< [kSpanPlaces, D]
  layers::Linear first{nullptr};
  layers::Norm first_norm{nullptr};
  layers::Linear second{nullptr};
  layers::Norm second_norm{nullptr};
};
TORCH_MODULE(SpanBoundaryHead);

}  // namespace weft::models
