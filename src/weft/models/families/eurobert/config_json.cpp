// SPDX-License-Identifier: Apache-2.0
// Fields that may be null, and those that have two names.
#include "weft/models/families/eurobert/config_json.h"

#include "weft/formats/json_members.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/eurobert/config.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/json/rope_json.h"

namespace weft::models {

using formats::Json;

EncoderConfig eurobert_from_json(const Json& json, std::string_view where, const std::filesystem::path& directory) {
  Json flat = json;
  flatten_rope(flat, where);
  for (const char* name : {"num_key_value_heads", "head_dim"}) {
    if (formats::given_member(json, name) == nullptr) {
      flat.erase(name);
    }
  }
  if (const Json* const pooling = formats::given_member(json, "clf_pooling");
      pooling != nullptr && !json.contains("classifier_pooling")) {
    flat["classifier_pooling"] = *pooling;
  }
  return encoder_fields_from_json(flat, where, directory);
}

Json eurobert_to_json(const EncoderConfig& config, Head head) {
  Json json = encoder_fields_to_json(config, head);
  json["num_key_value_heads"] = key_value_heads(config);
  if (json["head_dim"] == 0) {
    json["head_dim"] = config.head_dim();
  }
  json["rope_parameters"] = {{"rope_theta", json["rope_theta"]}, {"rope_type", "default"}};
  return json;
}

}  // namespace weft::models
