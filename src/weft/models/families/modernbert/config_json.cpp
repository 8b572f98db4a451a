// SPDX-License-Identifier: Apache-2.0
// The nested form of transformers 5 becomes the flat one of 4.48, whose names are those of Weft's fields.
#include "weft/models/families/modernbert/config_json.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/modernbert/config.h"

namespace weft::models {
namespace {

using formats::Json;

/// A kind of layer, and the field of its base.
struct ThetaField {
  const char* kind;
  const char* field;
};
constexpr std::array kThetas{ThetaField{ModernbertFields::kFull, "global_rope_theta"},
                             ThetaField{ModernbertFields::kSliding, "local_rope_theta"}};

bool is_there(const Json& json, const char* field) { return formats::given_member(json, field) != nullptr; }

/// Positions that are scaled, stretched or turned only in part would change the result.
void require_plain_rotation(const Json& rope, const std::string& where) {
  if (!rope.is_object()) {
    fail(ErrorKind::kFormat, where, " must be an object");
  }
  for (const auto& [name, value] : rope.items()) {
    const bool is_type = name == "rope_type" || name == "type";
    if ((is_type && value != "default") || (!is_type && name != "rope_theta")) {
      fail(ErrorKind::kUnsupported, where, ": ", Quoted(name), " is ", formats::quoted_json(value),
           ", but Weft has rotary positions of one base (rope_theta, rope_type default) in a modernbert");
    }
  }
}

void flatten_rotations(Json& json, std::string_view where) {
  if (is_there(json, "rope_scaling")) {
    require_plain_rotation(json["rope_scaling"], concat(where, ": rope_scaling"));
  }
  // Null: layers with a window turn as the others do. transformers 5.23 cannot compute with it.
  const bool as_global = json.contains("local_rope_theta") && !is_there(json, "local_rope_theta");
  const Json rope = is_there(json, "rope_parameters") ? json["rope_parameters"] : Json::object();
  if (!rope.is_object()) {
    fail(ErrorKind::kFormat, where, ": rope_parameters must be an object, found ", rope.type_name());
  }
  for (const auto& [kind, field] : kThetas) {
    if (is_there(rope, kind)) {
      require_plain_rotation(rope[kind], concat(where, ": rope_parameters: ", kind));
      if (is_there(rope[kind], "rope_theta")) {
        json[field] = rope[kind]["rope_theta"];
      }
    }
    if (!is_there(json, field)) {
      json.erase(field);
    }
  }
  if (as_global && !json.contains("local_rope_theta")) {
    json["local_rope_theta"] =
        json.contains("global_rope_theta") ? json["global_rope_theta"] : Json(ModernbertFields{}.global_rope_theta);
  }
}

bool is_one_in(std::int64_t period, const ModernbertFields& own, std::int64_t layers) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (own.is_full(layer) != (layer % period == 0)) {
      return false;
    }
  }
  return true;
}

/// The number of layers from one that sees the whole text to the next, where that says it all; 0 where it does not.
std::int64_t period_of(const ModernbertFields& own, std::int64_t layers) {
  if (is_one_in(own.global_attn_every_n_layers, own, layers)) {
    return own.global_attn_every_n_layers;
  }
  for (std::int64_t period = 1; period <= layers; ++period) {
    if (is_one_in(period, own, layers)) {
      return period;
    }
  }
  return 0;
}

}  // namespace

EncoderConfig modernbert_from_json(const Json& json, std::string_view where, const std::filesystem::path& directory) {
  Json flat = json;
  flatten_rotations(flat, where);
  if (!is_there(flat, "layer_types")) {
    flat.erase("layer_types");
  }
  EncoderConfig config = encoder_fields_from_json(flat, where, directory);
  auto& own = config.own.get<ModernbertFields>();
  const bool are_known = std::all_of(own.layer_types.begin(), own.layer_types.end(), ModernbertFields::is_layer_type);
  // Anything else is an error, which validate() tells.
  if (are_known && std::ssize(own.layer_types) == config.num_hidden_layers) {
    const std::int64_t period = period_of(own, config.num_hidden_layers);
    if (period > 0) {
      own.global_attn_every_n_layers = period;
      own.layer_types.clear();
    }
  }
  return config;
}

Json modernbert_to_json(const EncoderConfig& config, Head head) {
  Json json = encoder_fields_to_json(config, head);
  const auto& own = config.own.get<ModernbertFields>();
  Json kinds = Json::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    kinds.push_back(own.is_full(layer) ? ModernbertFields::kFull : ModernbertFields::kSliding);
  }
  json["layer_types"] = std::move(kinds);
  if (const std::int64_t period = period_of(own, config.num_hidden_layers); period > 0) {
    json["global_attn_every_n_layers"] = period;
  } else {
    json.erase("global_attn_every_n_layers");
  }
  for (const auto& [kind, field] : kThetas) {
    json["rope_parameters"][kind] = {{"rope_theta", json[field]}, {"rope_type", "default"}};
  }
  return json;
}

}  // namespace weft::models
