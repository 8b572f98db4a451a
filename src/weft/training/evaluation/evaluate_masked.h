// SPDX-License-Identifier: Apache-2.0
// How well an encoder predicts the masked tokens of a text: its windows lie side by side, each is masked once, and
// which tokens are masked depends on the window alone.
#pragma once

#include <cstdint>
#include <string_view>

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

/// `masking.seed` says which tokens; batches and processes change nothing but rounding. Processes that train together
/// share the windows, and each gets the result. Errors: kUnsupported for a decoder, kArgument for an empty text,
/// kNumeric when a loss is not finite.
MaskedResult evaluate_masked(models::LanguageModel model, const text::Tokenizer& tokenizer, std::string_view text,
                             const data::MaskingOptions& masking, const EvaluateOptions& options = {});

}  // namespace weft::training
