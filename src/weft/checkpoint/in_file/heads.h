// SPDX-License-Identifier: Apache-2.0
// Which head a file of weights holds, where config.json does not say it: by the names and shapes of its tensors.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "weft/formats/tensor_file.h"
#include "weft/models/encoder_config.h"

namespace weft::checkpoint {

/// The heads of the config's family all of whose tensors are in the file, the likeliest first. Several fit where only
/// labels tell them apart: a classifier over a pooled text is one of tags, too.
std::vector<models::Head> heads_in_file(const formats::TensorFile& file, const models::EncoderConfig& config);

/// Makes `config.architectures` the class of a head that the weights of `directory` hold, followed by what stood there,
/// where config.json names no class, or one that nobody published for the family; says so in a warning. `wanted` is the
/// head that a task needs: it is taken where it is there, also where config.json names the bare encoder. Nothing
/// changes where there are no weights, where no head is there, or where `architectures` names another class of
/// transformers.
void choose_head(models::EncoderConfig& config, const std::filesystem::path& directory,
                 std::optional<models::Head> wanted = std::nullopt);

}  // namespace weft::checkpoint
