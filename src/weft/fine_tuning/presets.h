// SPDX-License-Identifier: Apache-2.0
// Published settings by name: a preset is a table of fields, which every flag and config file goes before.
#pragma once

#include <string_view>

#include "weft/formats/config_json.h"

namespace weft::fine_tuning {

/// The fields of --preset `name`, empty for "none". How long a run is (steps, epochs, minutes) is left out where
/// `given` says it. Errors: kArgument for another name, or a task that the preset is not for.
formats::Json preset_fields(std::string_view name, const formats::Json& given);

}  // namespace weft::fine_tuning
