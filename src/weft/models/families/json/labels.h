// SPDX-License-Identifier: Apache-2.0
// What a config.json says about the head of an encoder: its class, the names of its labels, the kind of problem.
#pragma once

#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"

namespace weft::models {

/// id2label, or LABEL_0 ... for as many as num_labels says, problem_type and architectures, where they are there.
/// Errors: kFormat or kArgument naming `where` and the field.
void read_labels(EncoderConfig& config, const formats::Json& json, std::string_view where);

/// id2label, label2id and problem_type of a head that has labels.
void write_labels(formats::Json& json, const EncoderConfig& config, Head head);

}  // namespace weft::models
