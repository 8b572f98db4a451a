// SPDX-License-Identifier: Apache-2.0
// config.json of Weft's own models: every field that changes what a model is must be there.
#include "weft/models/families/weft/config_json.h"

#include "weft/core/error.h"
#include "weft/core/version.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

using formats::Json;

std::string_view architecture_of(const TransformerConfig& config) {
  return config.is_decoder ? "WeftForCausalLM" : "WeftForMaskedLM";
}

void check_architectures(const Json& json, const TransformerConfig& config, const std::string& where) {
  const auto found = json.find("architectures");
  if (found != json.end() && *found != Json::array({architecture_of(config)})) {
    fail(ErrorKind::kFormat, where, ": architectures must be [\"", architecture_of(config), "\"] with is_decoder ",
         config.is_decoder ? "true" : "false", ", found ", formats::quoted_json(*found));
  }
}

}  // namespace

TransformerConfig own_config_from_json(const Json& json, const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  TransformerConfig config;
  formats::update_from_json(config, json, where, {"architectures", "model_type", "weft_version"});
  formats::check_complete<TransformerConfig>(json, where);
  check_architectures(json, config, where);
  config.directory = directory;
  validate(config, where);
  return config;
}

Json own_config_to_json(const TransformerConfig& config) {
  Json json = {{"architectures", {architecture_of(config)}},
               {"model_type", weft_family().model_type},
               {"weft_version", kVersion}};
  json.update(formats::to_json(config));
  return json;
}

}  // namespace weft::models
