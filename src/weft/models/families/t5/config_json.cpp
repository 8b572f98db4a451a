// SPDX-License-Identifier: Apache-2.0
// Members that mean another field, and those that transformers derives from others.
#include "weft/models/families/t5/config_json.h"

#include "weft/formats/json_members.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/t5/config.h"

namespace weft::models {
namespace {

using formats::Json;

constexpr const char* kScale = "scale_decoder_outputs";
constexpr const char* kTie = "tie_word_embeddings";
constexpr const char* kDecoderLayers = "num_decoder_layers";

bool is_given(const Json& json, const char* name) { return formats::given_member(json, name) != nullptr; }

}  // namespace

EncoderDecoderConfig t5_from_json(const PairRules& rules, const Json& given, const std::filesystem::path& directory) {
  Json json = given;
  // Derived from feed_forward_proj.
  json.erase("dense_act_fn");
  json.erase("is_gated_act");
  if (!is_given(json, kDecoderLayers)) {
    json[kDecoderLayers] = is_given(json, "num_layers") ? json["num_layers"] : Json(rules.defaults.encoder_layers);
  }
  if (!is_given(json, kScale)) {
    json[kScale] = json.value(kTie, Json(t5_fields(rules.defaults).scale_decoder_outputs)) != false;
  }
  json.erase(kTie);
  return pair_fields_from_json(rules, json, directory);
}

EncoderDecoderConfig t5_from_json_with_one_scale(const PairRules& rules, const Json& given,
                                                 const std::filesystem::path& directory) {
  Json json = given;
  json[kScale] = t5_fields(rules.defaults).scale_decoder_outputs;
  return t5_from_json(rules, json, directory);
}

}  // namespace weft::models
