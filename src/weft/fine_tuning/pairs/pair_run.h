// SPDX-License-Identifier: Apache-2.0
// `weft train --task translate|summarize` as a few calls: a run over pairs made ready, begun, or gone on with.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "weft/checkpoint/open_model.h"
#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/pairs/pair_task.h"
#include "weft/training/trainer.h"

namespace weft::fine_tuning {

/// What was read and decided before the first step.
struct PreparedPairs {
  PairSettings settings;  ///< resolved: steps from epochs, paths absolute, the preset that was chosen
  std::shared_ptr<PairTask> task;
  ReadSummary training;
  ReadSummary held_out;
  std::int64_t epoch_steps = 0;  ///< that show every pair once
};

/// The model and tokeniser of a directory with what `changes` says of them: fields of EncoderDecoderConfig that a
/// directory leaves open. Files that changed mechanisms name lie below `graphs`. Its weights are of `dtype`. Errors: as
/// load_encoder_decoder and encoder_decoder_with_attention.
PairModel opened_pair(const checkpoint::OpenedModel& opened, const formats::Json& changes,
                      const std::filesystem::path& graphs, at::ScalarType dtype = at::kFloat);

/// `fields` may name a model: an encoder-decoder's directory, which brings its tokeniser and its shape. For a new model
/// `tokenizer` is a directory with a tokeniser of Hugging Face's kind that has <s> or padding to begin with, an end and
/// padding; empty: a vocabulary is learned of sources and targets together. `beside` is the directory of files that the
/// attention names. Files are read once where they fit into memory (PairTexts). Errors: kArgument, kFormat, kIo as the
/// parts say.
PreparedPairs prepare_pairs(const formats::Json& fields, const std::filesystem::path& tokenizer,
                            const std::filesystem::path& beside, std::string_view where);

/// Makes an interrupted run ready; `given` holds fields that were set again and must be what the run has, but for the
/// places of its data, its epochs, and what training::resumed_trainer lets change. Errors: kArgument naming the field.
PreparedPairs prepare_pairs_resumption(const std::filesystem::path& run, const formats::Json& given);

/// Trains in a new run directory.
training::TrainResult train_pairs(const std::filesystem::path& run, const PreparedPairs& prepared);
/// Goes on with one.
training::TrainResult resume_pairs(const std::filesystem::path& run, const PreparedPairs& prepared);

}  // namespace weft::fine_tuning
