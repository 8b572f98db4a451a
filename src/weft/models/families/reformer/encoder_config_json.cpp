// SPDX-License-Identifier: Apache-2.0
// The config of the stack, and what a head adds.
#include "weft/models/families/reformer/encoder_config_json.h"

#include <cstdint>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/families/json/hugging_face_fields.h"
#include "weft/models/families/json/labels.h"
#include "weft/models/families/reformer/config.h"
#include "weft/models/families/reformer/config_json.h"

namespace weft::models {
namespace {

using formats::Json;

template <typename Value>
void read_field(const Json& json, const std::string& where, const char* name, Value& value) {
  if (const auto found = json.find(name); found != json.end()) {
    read_hugging_face_field(*found, where + ": " + name, name, value);
  }
}

Json number_or_null(std::int64_t number) { return number < 0 ? Json() : Json(number); }

}  // namespace

EncoderConfig reformer_encoder_from_json(const Json& json, std::string_view given,
                                         const std::filesystem::path& directory) {
  const std::string where(given);
  EncoderConfig config = reformer_config(reformer_from_json(json, directory));
  config.eos_token_id = 2;  // transformers' own where the text is silent
  read_field(json, where, "pad_token_id", config.pad_token_id);
  read_field(json, where, "bos_token_id", config.bos_token_id);
  read_field(json, where, "eos_token_id", config.eos_token_id);
  read_field(json, where, "classifier_dropout", config.classifier_dropout);
  return config;
}

Json reformer_encoder_to_json(const EncoderConfig& config, Head head) {
  Json json = reformer_to_json(reformer_body(config, {}));
  json["architectures"] = {architecture_name(config.model_type, head)};
  for (const auto& [name, id] : {std::pair<const char*, std::int64_t>{"pad_token_id", config.pad_token_id},
                                 {"bos_token_id", config.bos_token_id},
                                 {"eos_token_id", config.eos_token_id}}) {
    json[name] = number_or_null(id);
  }
  json["classifier_dropout"] = config.classifier_dropout < 0.0 ? Json() : Json(config.classifier_dropout);
  write_labels(json, config, head);
  return json;
}

}  // namespace weft::models
