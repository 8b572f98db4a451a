// SPDX-License-Identifier: Apache-2.0
// Cross entropy behind a linear head without its logits: a chunk of positions at a time, the gradients of hidden states
// and head computed on the way, so that memory is that of one chunk however long the text is.
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "weft/layers/inference/int8_weight.h"

namespace weft::layers {

/// Labels of this value are not predicted.
inline constexpr std::int64_t kIgnoredLabel = -100;

/// What turns a hidden state of D columns into V scores.
struct HeadWeights {
  at::Tensor weight;                                 ///< [V, D], or undefined where it is int8
  at::Tensor bias;                                   ///< [V], or undefined
  std::shared_ptr<const Int8Weight> int8 = nullptr;  ///< in place of `weight`: losses have no gradient

  std::int64_t outputs() const { return int8 ? int8->outputs() : weight.size(0); }
};

/// The T' positions that have a label to predict.
struct Labelled {
  at::Tensor hidden;  ///< [T', D]
  at::Tensor labels;  ///< [T']
};

/// The positions whose label is not -100, differentiable; no copy when that is all of them. hidden [T, D], labels [T].
/// Labels on the CPU stay there, and nobody waits for a GPU that has `hidden`; labels on a GPU are waited for.
Labelled keep_labelled(const at::Tensor& hidden, const at::Tensor& labels);

/// Mean over the labels other than -100 of -log softmax(hidden W^T + b)[label], in nats: a float32 scalar (float64 for
/// float64 hidden). hidden [T, D], labels int64 [T]; zero, with zero gradients, when every label is ignored. Products
/// follow precision.h; softmax and sums are float32. Logits exist for `chunk` positions at once. 0 chooses: on a GPU
/// about 67 million scores; on a CPU about four million, or more of them up to 1,024 positions and 80 MB (397 positions
/// of 50,265 ids in float32, 795 in bfloat16); at least 256 positions. Labels may lie on the CPU where hidden is on a
/// GPU, as in keep_labelled(). Ignored positions cost nothing. Errors: kArgument for shapes or labels outside [0, V).
/// Double backward is an error. With smoothing s, a target is (1 - s) of its label and s spread evenly over all V
/// (Szegedy et al. 2016, section 7; PyTorch's label_smoothing). An int8 head gives a value without gradient, and
/// refuses smoothing and hidden states with gradients: kUnsupported.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const HeadWeights& head, const at::Tensor& labels,
                                std::int64_t chunk, double smoothing = 0.0);

/// How each label fares.
struct LabelScores {
  at::Tensor nats;  ///< its loss, 0 where it is -100
  at::Tensor hits;  ///< bool: whether it has the highest score; false where it is -100
};

/// [T] each, as linear_cross_entropy() takes them; no gradient, so that on a CPU 0 chooses about four million scores.
LabelScores linear_cross_entropy_each(const at::Tensor& hidden, const HeadWeights& head, const at::Tensor& labels,
                                      std::int64_t chunk);

}  // namespace weft::layers
