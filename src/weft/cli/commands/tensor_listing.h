// SPDX-License-Identifier: Apache-2.0
// The tensors of a model's files, for `weft info`.
#pragma once

#include <string>

#include "weft/formats/config_json.h"
#include "weft/formats/tensor_file.h"

namespace weft::cli {

/// [{"name", "dtype", "shape"}] in the order of the file, without reading a value; and a row each for people.
formats::Json tensors_json(const formats::TensorFile& file);
std::string tensors_text(const formats::TensorFile& file);

/// Reads every value: [{"name", "not_finite"}] with how many numbers are NaN or infinite, of the tensors that hold any.
/// Errors: kIo for a file that shrank; kUnsupported for a dtype that Weft does not read.
formats::Json not_finite_json(const formats::TensorFile& file);
/// What not_finite_json() found, for people.
std::string not_finite_text(const formats::Json& found);

}  // namespace weft::cli
