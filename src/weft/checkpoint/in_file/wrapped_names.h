// SPDX-License-Identifier: Apache-2.0
// Weights that were saved with what training wraps around a model: every name begins with "module.", "model.",
// "_orig_mod.", "base_model.model." or several of them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/tensor_file.h"
#include "weft/models/families/name_rows.h"

namespace weft::checkpoint {

/// The weights of a model directory under the names of its family. `anchors` are names that a file of the family has,
/// one of them at least: where none is there as it is, but one stands behind wrappers alone, these are taken off every
/// name, which a warning says once for each file. "_orig_mod." is taken out wherever it stands. A prefix that belongs
/// to the family's own names (BART's "model.") is part of the anchors and stays. Errors: as
/// formats::open_tensor_directory; kFormat where two tensors would have one name.
std::unique_ptr<formats::TensorFile> open_weights(const std::filesystem::path& directory,
                                                  const std::vector<std::string>& anchors);

/// The anchors of a family: the tensors of `rows` that belong to no layer, with `prefix` and without it.
std::vector<std::string> anchors_of(const std::vector<models::NameRow>& rows, std::string_view prefix);

}  // namespace weft::checkpoint
