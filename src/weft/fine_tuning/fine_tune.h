// SPDX-License-Identifier: Apache-2.0
// `weft train --task classify` and the like as a few calls: a run made ready, begun, or gone on with; and a finished
// model measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/fine_tuning/encoder_task.h"
#include "weft/fine_tuning/settings.h"
#include "weft/training/trainer.h"

namespace weft::fine_tuning {

/// What was read and decided before the first step.
struct Prepared {
  RunSettings settings;  ///< resolved: steps from epochs, paths absolute
  std::shared_ptr<EncoderTask> task;
  std::vector<std::string> new_tensors;  ///< Hugging Face names of what the model's directory lacked
  HeadChoice head;
  ReadSummary training;
  ReadSummary held_out;
  std::int64_t epoch_steps = 0;  ///< that show every example once
};

/// Reads the data, opens the model with the head that they need. Errors: kArgument, kFormat, kIo as the parts say.
Prepared prepare(const RunSettings& settings);

/// Trains in a new run directory.
training::TrainResult fine_tune(const std::filesystem::path& run, const Prepared& prepared);

/// Makes an interrupted run ready; `given` holds fields that were set again and must be what the run has, but for the
/// places of its data, on_error, its epochs, and what training::resumed_trainer lets change. Errors: kArgument naming
/// the field.
Prepared prepare_resumption(const std::filesystem::path& run, const formats::Json& given);
/// Goes on with it.
training::TrainResult resume_fine_tuning(const std::filesystem::path& run, const Prepared& prepared);

/// What is measured, and how.
struct Measurement {
  std::string task;
  std::filesystem::path directory;
  std::vector<std::string> data;
  DataSettings settings;
  RetrievalConfig retrieval = {};  ///< of embed and rerank: prompts, and the sizes that are measured besides
  std::int64_t batch_tokens = 16384;
  std::string dtype = "auto";                                                ///< see training::dtype_of_model()
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in batches; may throw to stop
  std::optional<checkpoint::OpenedModel> opened = {};  ///< the directory, where the caller has opened it
};

/// Figures, details and predictions of a finished model over labelled data.
struct Measured {
  formats::Json figures;
  formats::Json details;
  ReadSummary read;
  std::int64_t rows = 0;
  std::string dtype;  ///< of products: float32 or bfloat16
  std::string doubt;  ///< see Findings
  std::string note;   ///< see Findings
};
/// Errors: kArgument for a model with another head, and for labels it does not know.
Measured measure(const Measurement& measurement, const Objective::WriteLine& write_prediction = {});

}  // namespace weft::fine_tuning
