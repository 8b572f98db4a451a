// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one piece: softmax(scale * Q K^T + bias) V and its gradients with matrix products that every device
// has.
#pragma once

#include <ATen/core/Tensor.h>

namespace weft::attention {

/// What a piece computes on. R products, F heads, q queries and k keys each; all in one dtype but the bias.
struct PieceInputs {
  at::Tensor query;           ///< [R, F, q, D]
  at::Tensor key;             ///< [R, F, k, D]
  at::Tensor value;           ///< [R, F, k, D_v]
  at::Tensor bias;            ///< [R or 1, F or 1, q or 1, k], in the accumulation type, or undefined
  at::Tensor own;             ///< bool [R, F, q, k]: edges whose score is kOwnScore, or undefined
  at::Tensor dropout;         ///< [R, F, q, k], 0 or 1 / (1 - probability), or undefined
  at::Tensor invalid_keys;    ///< bool [R, F, 1, k]: keys that held NaN or infinity (now zero), or undefined
  at::Tensor invalid_values;  ///< [R, F, k, D_v], 1 for numbers of values that did (now zero); undefined with the keys
  double scale = 1.0;
  bool asks_scores = false;  ///< whether a backward pass gives the gradients of scores
};

/// output [R, F, q, D_v] and log_sum_exp [R, F, q]; rows without edges are zero and -infinity.
struct PieceForward {
  at::Tensor output;
  at::Tensor log_sum_exp;
};

/// What the forward pass left: rows that are empty or lost have a log_sum_exp of +infinity here, so that their
/// probabilities are 0, and zeros elsewhere.
struct PieceResults {
  at::Tensor output_gradient;  ///< [R, F, q, D_v]
  at::Tensor delta;            ///< [R, F, q, 1]: the sum of output gradient times output
  at::Tensor log_sum_exp;      ///< [R, F, q]
  /// bool [R, F, q, 1], both undefined where all numbers are finite: rows whose log_sum_exp was not finite, and rows
  /// whose delta is not (kernels/fused/spoiled_rows.h).
  at::Tensor lost;
  at::Tensor unbounded;
};

struct PieceGradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor scores;  ///< [R, F, q, k], of scores with their bias; undefined where nobody asks
};

PieceForward portable_forward(const PieceInputs& inputs);
PieceGradients portable_backward(const PieceInputs& inputs, const PieceResults& results);

}  // namespace weft::attention
