// SPDX-License-Identifier: Apache-2.0
// The run that a model directory is of, and the number format that the run learned and was evaluated in, for whoever
// reads the model later: one model has one figure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace weft::training {

/// The run directory, which has a training.json: `model` itself, or the run whose best/ or checkpoints/step-N it is.
/// Empty for any other directory.
std::filesystem::path run_of(const std::filesystem::path& model);

/// "float32" or "bfloat16": the dtype of the training.json of run_of(model). Nothing where there is none that Weft
/// wrote. Errors: kIo, kFormat naming the file and the value.
std::optional<std::string> run_dtype(const std::filesystem::path& model);

/// What `dtype` means for the products of the model in the directory `model`: "float32" and "bfloat16" are themselves;
/// "run" and "auto" are run_dtype(), and for a directory of no run "run" is float32, "auto" what this processor is fast
/// at (resolved_dtype()). Errors: those of run_dtype().
std::string dtype_of_model(const std::string& dtype, const std::filesystem::path& model);

}  // namespace weft::training
