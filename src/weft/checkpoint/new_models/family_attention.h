// SPDX-License-Identifier: Apache-2.0
// What a family of encoders means to who makes one: its own settings, its own attention, and who knows the order
// of the tokens.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/encoder_config.h"

namespace weft::checkpoint {

/// Errors: UsageError where the option `name` of `command` sets a field that the family of `config` has not, or that
/// only its own attention reads and `config` names another attention: it would be taken and never used.
void require_family_setting(std::string_view command, std::string_view name, std::string_view field,
                            const models::EncoderConfig& config);

/// Says that `made` attends as its family does, where its source in `directory` names an attention of its own.
void warn_of_attention_left(const models::EncoderConfig& source, const models::EncoderConfig& made,
                            const std::string& directory);

/// Warns where a model has no position embeddings and no layer whose attention knows positions by itself.
void warn_without_order(const models::EncoderConfig& config);

}  // namespace weft::checkpoint
