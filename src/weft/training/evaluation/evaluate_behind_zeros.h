// SPDX-License-Identifier: Apache-2.0
// Transformer-XL as `transformers` 4 evaluates it: behind rows of zeros, which take weight from the first tokens.
#pragma once

#include "weft/training/evaluation/evaluate.h"

namespace weft::training {

/// evaluate() of a model with a memory that begins with memory_length rows of zeros in every layer. Errors: as
/// evaluate(); kArgument for a model without a memory or with a compressed one, or that norms what it remembers.
EvalResult evaluate_behind_zeros(const models::LanguageModel& model, const text::Tokenizer& tokenizer,
                                 std::string_view text, const EvaluateOptions& options = {});

}  // namespace weft::training
