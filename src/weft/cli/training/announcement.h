// SPDX-License-Identifier: Apache-2.0
// What is about to be computed, as a table on standard error before the first step. Only the first process of several
// speaks.
#pragma once

#include <cstdint>

#include "weft/cli/front/output.h"
#include "weft/core/system/process_rank.h"
#include "weft/runs/train/train.h"

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

/// Says what a run will compute, where this process is the first of several.
class Announcer final : public runs::TrainListener {
 public:
  /// `threads` are those that count where the run names none.
  explicit Announcer(std::int64_t threads) : threads_(threads) {}

  void begins(const training::TextRun& run, const models::TransformerConfig& model) override { announce(run, model); }
  void begins(const fine_tuning::PreparedText& prepared) override { announce(prepared); }
  void begins(const fine_tuning::Prepared& prepared) override { announce(prepared); }
  void begins(const fine_tuning::PreparedPairs& prepared) override { announce(prepared); }
  void goes_on_after(std::int64_t steps) override;

 private:
  template <typename... Run>
  void announce(const Run&... run) const {
    if (is_first_process()) {
      print(announcement_of(run...));
    }
  }
  void print(const Announcement& announcement) const;

  std::int64_t threads_;
};

}  // namespace weft::cli
