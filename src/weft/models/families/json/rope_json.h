// SPDX-License-Identifier: Apache-2.0
// What config.json says of rotary positions, in the forms of several releases of transformers.
#pragma once

#include <string_view>

#include "weft/formats/config_json.h"

namespace weft::models {

/// `rope_parameters` of transformers 5, and `rope_scaling` of 4, as the one number `rope_theta`, which is not there
/// where neither form has it. Errors: kUnsupported naming `where` for positions that are scaled or turn a part of a
/// head.
void flatten_rope(formats::Json& json, std::string_view where);

}  // namespace weft::models
