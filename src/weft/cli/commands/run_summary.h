// SPDX-License-Identifier: Apache-2.0
// What a directory holds, in a few rows: a model of Weft's or of Hugging Face's, the tensors of a weights file, a run.
// Read without taking the run's lock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/output.h"
#include "weft/formats/config_json.h"
#include "weft/formats/tensor_file.h"
#include "weft/models/transformer_config.h"

namespace weft::cli {

/// Rows for name_table: kind and size, shape, positions.
Rows model_rows(const models::TransformerConfig& config, std::int64_t parameters);

/// How a run was trained and how far its newest checkpoint is: {"step", "tokens", "seconds", "loss", "evaluation",
/// "config"}; "loss" is null at step 0, the weights before training. Nothing when the directory is a model only.
/// Errors: kIo, kFormat.
std::optional<formats::Json> run_json(const std::filesystem::path& directory);

/// Rows for name_table from run_json() of `directory`. Errors: kFormat naming the file and the field of another type.
Rows run_rows(const formats::Json& run, const std::filesystem::path& directory);

/// {"family", "kind", "head", "parameters", "layers", "width", "heads", "positions", "vocabulary", "labels",
/// "tokenizer", "attention" and what else EncoderModelImpl::computed() says}. Errors: as
/// checkpoint::load_encoder_config.
formats::Json encoder_summary(const checkpoint::OpenedModel& directory);

/// Rows for name_table from it.
Rows encoder_rows(const formats::Json& summary);

/// Numbers in all tensors of the file.
std::int64_t element_count(const formats::TensorFile& file);

/// [{"name", "dtype", "shape"}] in the order of the file, without reading a value; and a row each for people.
formats::Json tensors_json(const formats::TensorFile& file);
std::string tensors_text(const formats::TensorFile& file);

/// Reads every value: [{"name", "not_finite"}] with how many numbers are NaN or infinite, of the tensors that hold any.
/// Errors: kIo for a file that shrank; kUnsupported for a dtype that Weft does not read.
formats::Json not_finite_json(const formats::TensorFile& file);
/// What not_finite_json() found, for people.
std::string not_finite_text(const formats::Json& found);

}  // namespace weft::cli
