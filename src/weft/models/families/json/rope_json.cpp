// SPDX-License-Identifier: Apache-2.0
// Rotary positions of one base.
#include "weft/models/families/json/rope_json.h"

#include "weft/core/error.h"
#include "weft/formats/json_members.h"

namespace weft::models {

using formats::Json;

void flatten_rope(Json& json, std::string_view where) {
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const Json* const rope = formats::given_member(json, name);
    if (rope == nullptr) {
      continue;
    }
    const bool plain = rope->is_object() && (!rope->contains("rope_type") || rope->at("rope_type") == "default") &&
                       (!rope->contains("partial_rotary_factor") || rope->at("partial_rotary_factor") == 1.0);
    if (!plain) {
      fail(ErrorKind::kUnsupported, where, ": ", name, " must have rope_type \"default\" and turn whole heads, found ",
           formats::quoted_json(*rope));
    }
    if (const Json* const theta = formats::given_member(*rope, "rope_theta")) {
      json["rope_theta"] = Json(*theta);
    }
  }
  if (formats::given_member(json, "rope_theta") == nullptr) {
    json.erase("rope_theta");
  }
}

}  // namespace weft::models
