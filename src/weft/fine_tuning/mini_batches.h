// SPDX-License-Identifier: Apache-2.0
// A batch whose rows are read by themselves, in mini-batches: the loss sees all of its rows, and no more than one
// mini-batch's graph is ever kept (Gao et al. 2021, "Scaling deep contrastive learning batch size under memory limited
// setup").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/fine_tuning/objective.h"

namespace weft::fine_tuning {

struct MiniBatchOptions {
  Padding padding;
  std::int64_t tokens = 0;  ///< of a mini-batch with its padding; one row always fits
  DropoutSeed seed;         ///< of all dropout: a mini-batch's follows from it and its number
  bool replay = true;  ///< of several mini-batches none keeps its graph, each runs again in the backward pass, with
                       ///< the same dropout; false: all keep theirs. The numbers are the same
};

/// The rows of each mini-batch: neighbours in length, so that little is padding, the shortest first.
std::vector<std::vector<std::size_t>> mini_batches(std::span<const TokenRow> rows, std::int64_t tokens);

/// The logits that objective.run() gives for each row, [rows, numbers] in the order of `rows`, in at least float32,
/// with their graph.
at::Tensor run_in_mini_batches(const Objective& objective, const models::EncoderModel& model,
                               std::span<const TokenRow> rows, const MiniBatchOptions& options);

}  // namespace weft::fine_tuning
