// SPDX-License-Identifier: Apache-2.0
// What is about to be computed, as a table on standard error before the first step. Only the first process of several
// speaks.
#pragma once

#include <cstdint>

#include "weft/fine_tuning/fine_tune.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/models/transformer_config.h"
#include "weft/training/train_language_model.h"

namespace weft::cli {

/// A language model's run; `threads` are those that count where the config names none. Errors: kIo for text that is not
/// there.
void announce(const training::TextRun& run, const models::TransformerConfig& model, std::int64_t threads);

/// An encoder's run over text. Errors: as above.
void announce(const fine_tuning::PreparedText& prepared, std::int64_t threads);

/// A fine-tuning run: the head, what is new in it, and the examples that were read, skipped or cut.
void announce(const fine_tuning::Prepared& prepared, std::int64_t threads);

/// A run over pairs of texts: the preset and what it makes, the vocabulary, and the pairs that were read.
void announce(const fine_tuning::PreparedPairs& prepared, std::int64_t threads);

}  // namespace weft::cli
