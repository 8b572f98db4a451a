// SPDX-License-Identifier: Apache-2.0
// config.json of the encoder families.
#include "weft/models/families/json/encoder_json.h"

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/hugging_face_fields.h"
#include "weft/models/families/json/labels.h"
#include "weft/models/families/replaced_attention.h"

namespace weft::models {
namespace {

using formats::Json;

void refuse_true(const Json& json, std::string_view where, const char* field) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) {
    return;
  }
  bool value = false;
  formats::read_value(*found, concat(where, ": ", field), value);
  if (value) {
    fail(ErrorKind::kUnsupported, where, ": ", field, " is true, but Weft opens encoders only");
  }
}

const Family& family_named(const Json& json, std::string_view where) {
  const Family* const family = family_of(json);
  if (family == nullptr || family->encoder == nullptr) {
    fail(ErrorKind::kUnsupported, where, ": model_type must be one of ", encoder_types(", "), ", found ",
         quote(json.at("model_type").get<std::string>()));
  }
  return *family;
}

void refuse_what_changes_the_result(const EncoderRules& rules, const Json& json, std::string_view where) {
  for (const char* field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    refuse_true(json, where, field);
  }
  const auto positions = json.find("position_embedding_type");
  const bool may_be_none = rules.has_field("position_embedding_type");
  if (positions != json.end() && *positions != rules.positions_by && !(may_be_none && *positions == "none")) {
    fail(ErrorKind::kUnsupported, where, ": position_embedding_type must be \"", rules.positions_by, "\", found ",
         formats::quoted_json(*positions));
  }
  const auto pruned = json.find("pruned_heads");
  if (pruned != json.end() && !pruned->empty()) {
    fail(ErrorKind::kUnsupported, where, ": pruned_heads must be empty");
  }
}

/// Calls visit(name, value) for the fields that the family's config.json has, in the order in which it is written: the
/// name there, and the value in `config`.
template <typename Config, typename Visitor>
void each_field(const EncoderRules& rules, Config& config, const Visitor& visit) {
  EncoderConfig::fields([&](const auto& field) {
    if (const std::string_view name = rules.name_of(field.name); !name.empty()) {
      visit(name, config.*field.member);
    }
    if (field.name == rules.own_fields_after) {
      config.own.each([&](const FieldRule& rule, auto& value) { visit(rule.name, value); });
    }
  });
}

}  // namespace

EncoderConfig encoder_config_from_json(const Json& json, std::string_view where,
                                       const std::filesystem::path& directory) {
  const auto found = json.is_object() ? json.find("model_type") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_string()) {
    fail(ErrorKind::kFormat, where, ": model_type must be one of ", encoder_types(", "), ", found none");
  }
  const Family& family = family_named(json, where);
  EncoderConfig config = family.encoder->from_json(json, where, directory);
  config.model_type = family.name;
  config.directory = directory;
  read_labels(config, json, where);
  validate(config, where);
  return config;
}

EncoderConfig encoder_fields_from_json(const Json& json, std::string_view where, const std::filesystem::path&) {
  const EncoderRules& rules = *family_named(json, where).encoder;
  refuse_what_changes_the_result(rules, json, where);
  EncoderConfig config = rules.defaults;
  each_field(rules, config, [&](std::string_view name, auto& value) {
    if (const auto found = json.find(std::string(name)); found != json.end()) {
      read_hugging_face_field(*found, concat(where, ": ", name), name, value);
    }
  });
  return config;
}

Json encoder_config_to_json(const EncoderModelImpl& model) {
  const EncoderConfig config = with_options(model.config(), model.options());
  const auto parameters = model.parameters();
  Json json = encoder_rules(config).to_json(config, model.head());
  json["dtype"] = dtype_text(parameters.empty() ? at::kFloat : parameters.front().scalar_type());
  return json;
}

Json encoder_fields_to_json(const EncoderConfig& config, Head head) {
  const EncoderRules& rules = encoder_rules(config);
  Json json = {{"architectures", {architecture_name(config.model_type, head)}}};
  each_field(rules, config, [&](std::string_view name, const auto& value) {
    json[std::string(name)] = hugging_face_value(name, Json(value));
  });
  json["model_type"] = find_family(config.model_type)->model_type;
  if (config.attention.empty()) {
    json.erase("attention");
  }
  write_labels(json, config, head);
  return json;
}

}  // namespace weft::models
