// SPDX-License-Identifier: Apache-2.0
// Fields of a config that whoever opens a model replaces, where they are its family's alone.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"

namespace weft::models {

/// Lays `fields` (EncoderOptions::fields) over those of `config`, of either kind of model. Errors: kArgument naming
/// families(field), which have it, for a field that the config's family has not; those of update_from_json().
template <typename Config>
void replace_fields(Config& config, const formats::Json& fields, std::string (*families)(std::string_view field)) {
  for (const auto& [name, value] : fields.items()) {
    require(
        config.own.has(name), name, " is for ", [&] { return families(name); }, ", but the model is ",
        config.model_type);
  }
  if (!fields.empty()) {
    formats::update_from_json(config, fields, "options of the model");
  }
}

}  // namespace weft::models
