// SPDX-License-Identifier: Apache-2.0
// The nine ways to train, each from a request to a trained run.
#pragma once

#include <cstdint>

#include "weft/fine_tuning/fine_tune.h"
#include "weft/fine_tuning/masked_text/masked_text_run.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/models/transformer_config.h"
#include "weft/runs/train/request.h"
#include "weft/training/train_language_model.h"
#include "weft/training/trainer.h"

namespace weft::runs {

/// Who hears what a run will compute, once nothing can be refused any more and before the first step. Every process
/// tells its own listener.
class TrainListener {
 public:
  TrainListener() = default;
  TrainListener(const TrainListener&) = delete;
  TrainListener& operator=(const TrainListener&) = delete;
  virtual ~TrainListener() = default;

  /// A language model over text.
  virtual void begins(const training::TextRun& /*run*/, const models::TransformerConfig& /*model*/) {}
  /// An encoder over text.
  virtual void begins(const fine_tuning::PreparedText& /*prepared*/) {}
  /// Examples of a task.
  virtual void begins(const fine_tuning::Prepared& /*prepared*/) {}
  /// Pairs of texts.
  virtual void begins(const fine_tuning::PreparedPairs& /*prepared*/) {}
  /// Behind begins() for a language model that goes on after so many steps; the first process alone knows.
  virtual void goes_on_after(std::int64_t /*steps*/) {}
};

/// Computes what is asked for. Everything that can be refused is refused before `listener` hears of it. Every process
/// trains. Errors: UsageError where a directory decides what an option says, or cannot learn the task; as Trainer::run.
training::TrainResult train(const TrainRequest& request, TrainListener& listener);

}  // namespace weft::runs
