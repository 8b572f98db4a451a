// SPDX-License-Identifier: Apache-2.0
// How well an encoder predicts the masked tokens of a text: its windows lie side by side, each is masked once, and
// which tokens are masked depends on the window alone; or on a longer one that is masked before it is cut into windows,
// so that models that read windows of several lengths are asked for the same tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "weft/data/masking.h"
#include "weft/models/language_model.h"
#include "weft/text/tokenizer.h"
#include "weft/training/evaluation/evaluate.h"

namespace weft::training {

/// Means are over the predicted tokens.
struct MaskedResult {
  double loss = 0.0;        ///< nats
  double accuracy = 0.0;    ///< part whose token has the highest score
  std::int64_t tokens = 0;  ///< predicted
  std::int64_t context = 0;
  double seconds = 0.0;
};

/// {"loss", "masked_accuracy", "masked_tokens", "context", "seconds"}.
formats::Json to_json(const MaskedResult& result);
/// These names.
std::vector<std::string> masked_figure_names();

/// What any model brings along to be asked for masked tokens.
struct MaskedScoring {
  torch::nn::Module& model;
  /// A window of a text, int64 [1, n], masked by its number.
  std::function<data::Batch(const at::Tensor& tokens, std::int64_t window)> mask;
  /// A masked window, int64 [1, n], as the model reads it; nothing for as it is.
  std::function<data::Batch(const data::Batch& window)> frame;
  /// Nats and hits of the labels of a batch, in any shape.
  std::function<models::TokenScores(const data::Batch& batch)> scores;
};

/// Windows of options.context tokens of `ids`, side by side. Where options.mask_window is not 0, so many tokens are
/// masked together by their number, and then cut. Errors: as below.
MaskedResult evaluate_masked(const MaskedScoring& scoring, const std::vector<std::int64_t>& ids,
                             const EvaluateOptions& options);

/// `masking.seed` says which tokens; batches and processes change nothing but rounding. Processes that train together
/// share the windows, and each gets the result. Errors: kUnsupported for a decoder, kArgument for an empty text and for
/// a mask_window that is no multiple of a window's tokens of text, kNumeric when a loss is not finite.
MaskedResult evaluate_masked(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                             const data::MaskingOptions& masking, const EvaluateOptions& options = {});

}  // namespace weft::training
