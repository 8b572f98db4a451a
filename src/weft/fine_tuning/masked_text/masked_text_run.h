// SPDX-License-Identifier: Apache-2.0
// `weft train --task mlm --model DIR` as a few calls: a run over text made ready, begun, or gone on with.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fine_tuning/masked_text/masked_text_task.h"
#include "weft/training/trainer.h"

namespace weft::fine_tuning {

/// Settings of the trainer where nothing else is said, and a model goes on from weights that it has: those of
/// fine_tuning_defaults() but for the batch size, which counts windows of text here.
formats::Json further_training_defaults();

/// What was read and decided before the first step.
struct PreparedText {
  training::TrainerConfig trainer;
  training::TextConfig text;
  MaskedTextConfig config;
  training::DistillationConfig distillation;
  std::shared_ptr<MaskedTextTask> task;
  std::vector<std::string> new_tensors;  ///< Hugging Face names of what the model's directory lacked
};

/// A new run from `fields` over further_training_defaults(). Without a context windows are as long as the model allows.
/// Errors: kFormat for a name that is no field; kArgument, kIo as the parts say.
PreparedText prepare_masked_text(const formats::Json& fields, std::string_view where);
/// The same for whoever has opened the model that `fields` name.
PreparedText prepare_masked_text(const formats::Json& fields, const checkpoint::OpenedModel& model,
                                 std::string_view where);

/// Makes an interrupted run ready. Errors: as prepare_resumption() of fine_tune.h.
PreparedText prepare_masked_text_resumption(const std::filesystem::path& run, const formats::Json& given);

/// Trains in a new run directory.
training::TrainResult train_masked_text(const std::filesystem::path& run, const PreparedText& prepared);
/// Goes on with one.
training::TrainResult resume_masked_text(const std::filesystem::path& run, const PreparedText& prepared);

}  // namespace weft::fine_tuning
