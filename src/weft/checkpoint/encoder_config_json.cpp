// SPDX-License-Identifier: Apache-2.0
// config.json of the encoder families.
#include "weft/checkpoint/encoder_config_json.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/family.h"
#include "weft/models/families/json/hugging_face_fields.h"
#include "weft/models/families/json/labels.h"
#include "weft/models/families/reformer/encoder_config_json.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::Head;

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

const models::EncoderFamily& family_named(const std::string& name, std::string_view where) {
  try {
    return models::find_family(name);
  } catch (const Error& error) {
    fail(ErrorKind::kUnsupported, where, ": ", error.what());
  }
}

void refuse_what_changes_the_result(const models::EncoderFamily& family, const Json& json, std::string_view where) {
  for (const char* field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    refuse_true(json, where, field);
  }
  const auto positions = json.find("position_embedding_type");
  if (positions != json.end() && *positions != "absolute" && !(family.may_lack_positions && *positions == "none")) {
    fail(ErrorKind::kUnsupported, where, ": position_embedding_type must be \"absolute\", found ",
         quote(positions->dump(-1, ' ', true, Json::error_handler_t::replace)));
  }
  const auto pruned = json.find("pruned_heads");
  if (pruned != json.end() && !pruned->empty()) {
    fail(ErrorKind::kUnsupported, where, ": pruned_heads must be empty");
  }
}

void read_fields(EncoderConfig& config, const Json& json, std::string_view where) {
  EncoderConfig::fields([&](const auto& field) {
    const auto found = json.find(std::string(field.name));
    if (found != json.end() && family_has_field(config.model_type, field.name)) {
      models::read_hugging_face_field(*found, concat(where, ": ", field.name), field.name, config.*field.member);
    }
  });
}

/// The config that the model runs by, its options included.
EncoderConfig settled(const models::EncoderModelImpl& model) {
  EncoderConfig config = model.config();
  const models::EncoderOptions& options = model.options();
  if (!options.attention.empty()) {
    config.attention = {options.attention};
  }
  if (!options.attention_type.empty()) {
    config.attention_type = options.attention_type;
  }
  if (options.block_size > 0) {
    config.block_size = options.block_size;
  }
  if (options.random_blocks >= 0) {
    config.num_random_blocks = options.random_blocks;
  }
  return config;
}

}  // namespace

EncoderConfig encoder_config_from_json(const Json& json, std::string_view where) {
  const auto found = json.is_object() ? json.find("model_type") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_string()) {
    fail(ErrorKind::kFormat, where, ": model_type must be one of ", models::encoder_types(", "), ", found none");
  }
  const models::EncoderFamily& family = family_named(found->get<std::string>(), where);
  refuse_what_changes_the_result(family, json, where);
  EncoderConfig config = family.defaults;
  read_fields(config, json, where);
  models::read_labels(config, json, where);
  models::validate(config, where);
  return config;
}

Json encoder_config_to_json(const models::EncoderModelImpl& model) {
  const EncoderConfig config = settled(model);
  const auto parameters = model.parameters();
  const char* const dtype = models::dtype_text(parameters.empty() ? at::kFloat : parameters.front().scalar_type());
  if (config.body) {
    Json json = models::reformer_encoder_to_json(config, model.head());
    json["dtype"] = dtype;
    return json;
  }
  Json json = {{"architectures", {models::architecture_name(config.model_type, model.head())}}};
  EncoderConfig::fields([&](const auto& field) {
    const auto& value = config.*field.member;
    const std::string name(field.name);
    if (!family_has_field(config.model_type, field.name) || (name == "attention" && config.attention.empty())) {
      return;
    }
    json[name] = value;
    if (models::may_be_null(name) && json[name] < 0) {
      json[name] = nullptr;
    }
    if (name == "attention_window" && config.attention_window.size() == 1) {
      json[name] = config.attention_window.front();  // transformers takes a list only when it has one for each layer
    }
  });
  models::write_labels(json, config, model.head());
  json["dtype"] = dtype;
  return json;
}

// A field is the family's, or everybody's.
bool family_has_field(std::string_view model_type, std::string_view field) {
  const auto has = [&](const models::EncoderFamily* family) {
    return std::find(family->own_fields.begin(), family->own_fields.end(), field) != family->own_fields.end();
  };
  const auto all = models::encoder_families();
  return has(&models::find_family(model_type)) || std::none_of(all.begin(), all.end(), has);
}

}  // namespace weft::checkpoint
