// SPDX-License-Identifier: Apache-2.0
// A chunk of the rows that linear_cross_entropy.h takes a loss of: its scores, its losses, and the gradients of its
// scores in their place.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/layers/linear_cross_entropy.h"

namespace weft::layers {

/// The head as operands of products, made once for all chunks.
struct LossHead {
  at::Tensor weight;  ///< [V, D], operand form; on a GPU rows of zeros may follow, so that products are fast
  at::Tensor bias;    ///< [V] in the dtype of the sums, or undefined
  at::Tensor wide;    ///< the bias of the rows of zeros, too: see with_wide_bias()
  at::ScalarType dtype = at::kFloat;
  const Int8Weight* int8 = nullptr;  ///< in place of `weight`
};

/// `hidden` says where and in which dtype scores are summed; `dtype` is that of products.
LossHead prepare_head(const HeadWeights& given, const at::Tensor& hidden, at::ScalarType dtype);
/// `head` with its `wide`, of `ids` scores and the rows of zeros, whose scores are never the best: for finish_chunk()
/// where takes_few_passes().
LossHead with_wide_bias(LossHead head, std::int64_t ids, const at::TensorOptions& options);

struct ScoreChunk {
  at::Tensor hidden;   ///< [C, D], operand form
  at::Tensor scores;   ///< [C, V], rounded as a linear layer rounds its result; without the bias
  at::Tensor aligned;  ///< their memory, with the columns of the zeros
  at::Tensor targets;  ///< [C, 1]
  at::Tensor teacher;  ///< [C, V], or undefined

  std::int64_t rows() const { return scores.size(0); }
  ScoreChunk part(std::int64_t begin, std::int64_t count) const;
};

/// Whether the device of `tensor` computes a few rows at a time, which stay in its caches.
bool works_in_parts(const at::Tensor& tensor);

/// Rows of `hidden` that are scored at once: `asked`, or where that is 0 what suits the device; chunks of a GPU are
/// equally long.
std::int64_t chunk_size(const at::Tensor& hidden, std::int64_t asked, std::int64_t vocabulary);
/// The same of rows whose gradients may be computed: on a CPU more, so that the gradient of the weight is multiplied at
/// full speed.
std::int64_t training_chunk(std::int64_t asked, const at::Tensor& hidden, std::int64_t vocabulary);

/// The scores of `hidden` [C, D] for `ids` ids; labels [C].
ScoreChunk score_chunk(const at::Tensor& hidden, const LossHead& head, std::int64_t ids, const at::Tensor& labels);
/// The scores with their bias, widened, so that softmax and sums are float32. Where they are that already, it is their
/// own memory.
at::Tensor logits_of(const ScoreChunk& chunk, const LossHead& head, at::ScalarType sums);

/// What a chunk's losses are taken over: their number, how much of a target is spread, and the teacher's part.
struct LossTargets {
  double scale = 1.0;
  double smoothing = 0.0;
  double soft = 0.0;  ///< the teacher's share of the loss
  double temperature = 1.0;
};

/// Whether finish_chunk() goes over all scores of a device in few passes, and leaves the scale of gradients to the
/// backward pass.
bool takes_few_passes(const at::Tensor& hidden, double smoothing, bool has_teacher, bool is_int8);

/// The losses, [C, 1] of type `sums`. With `gathers` the scores become (softmax - target) * scale, or with a teacher
/// that and its part in their shares.
at::Tensor finish_chunk(const ScoreChunk& chunk, const LossHead& head, const LossTargets& targets, at::ScalarType sums,
                        bool gathers);

}  // namespace weft::layers
