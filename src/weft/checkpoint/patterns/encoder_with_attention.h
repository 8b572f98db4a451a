// SPDX-License-Identifier: Apache-2.0
// An encoder that stays what it is, but for the patterns of its layers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/models/encoder_model.h"

namespace weft::checkpoint {

/// `source` with other mechanisms, one or one a layer, and the same weights; files that they name lie below `graphs`.
/// Errors: kArgument and those of parse_mechanism for mechanisms that do not fit, or that learn weights which the
/// source does not have.
models::EncoderModel encoder_with_attention(const models::EncoderModel& source,
                                            const std::vector<std::string>& attention,
                                            const std::filesystem::path& graphs);

}  // namespace weft::checkpoint
