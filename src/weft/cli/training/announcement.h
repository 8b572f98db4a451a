// SPDX-License-Identifier: Apache-2.0
// What is about to be computed, as a table on standard error before the first step. Only the first process of several
// speaks.
#pragma once

#include <cstdint>

#include "weft/cli/front/output.h"
#include "weft/core/system/process_rank.h"
#include "weft/fine_tuning/fine_tune.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/models/transformer_config.h"
#include "weft/training/train_language_model.h"

namespace weft::cli {

/// What is said of a run. All runs are said in the same order.
struct Announcement {
  Rows model;  ///< the task, the model and what is new in it
  training::DistillationConfig distillation = {};
  training::TrainerConfig trainer;
  Rows steps;  ///< what a step sees, and of how much text
};

/// A language model's run. Errors: kIo for text that is not there.
Announcement announcement_of(const training::TextRun& run, const models::TransformerConfig& model);
/// An encoder's run over text. Errors: as above.
Announcement announcement_of(const fine_tuning::PreparedText& prepared);
/// A fine-tuning run: the head, what is new in it, and the examples that were read, skipped or cut.
Announcement announcement_of(const fine_tuning::Prepared& prepared);
/// A run over pairs of texts: the preset and what it makes, the vocabulary, and the pairs that were read.
Announcement announcement_of(const fine_tuning::PreparedPairs& prepared);

/// Writes the table. `threads` are those that count where the run names none.
void print_announcement(const Announcement& announcement, std::int64_t threads);

/// What announcement_of() says of `run`, where this process speaks.
template <typename... Run>
void announce(std::int64_t threads, const Run&... run) {
  if (is_first_process()) {
    print_announcement(announcement_of(run...), threads);
  }
}

}  // namespace weft::cli
