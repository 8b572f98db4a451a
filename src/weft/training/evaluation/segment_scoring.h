// SPDX-License-Identifier: Apache-2.0
// A text of any length scored segment by segment behind a memory, each token but the first exactly once: what a reader
// of Transformer-XL's figures expects of a model with a memory (Dai et al. 2019, section 3.2).
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "weft/models/language_model.h"
#include "weft/training/evaluation/window_scoring.h"

namespace weft::training {

/// Each segment's scores, in the order of the text, [1, N] each.
using OnSegment = std::function<void(const models::TokenScores& scores, const at::Tensor& labels)>;

/// What a text begins with.
enum class MemoryBegin {
  kEmpty,  ///< no rows, as the paper's program
  kZeros,  ///< as many rows of zeros as the memory holds, in every layer, which tokens attend to, as `transformers` 4
};

/// The summed nats of tokens 1 to the last of `ids`, int64 [n], in segments of options.context tokens behind the memory
/// that the model's config says. One text is one row: a segment waits for the one before it. `model` is in evaluation
/// mode. Errors: kArgument for fewer than two tokens or a context below 1; kNumeric when a loss is not finite;
/// kUnsupported for shares.
double segment_nats(models::LanguageModel model, const at::Tensor& ids, const WindowOptions& options,
                    const OnSegment& on_segment, MemoryBegin begin = MemoryBegin::kEmpty);

}  // namespace weft::training
