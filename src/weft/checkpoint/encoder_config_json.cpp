// SPDX-License-Identifier: Apache-2.0
// config.json of the encoder families.
#include "weft/checkpoint/encoder_config_json.h"

#include <algorithm>

#include "weft/checkpoint/config/hugging_face_fields.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/models/families/family.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::Head;

/// Whether a field is the family's, or everybody's.
bool family_has(std::string_view model_type, std::string_view field) {
  const auto has = [&](const models::EncoderFamily* family) {
    return std::find(family->own_fields.begin(), family->own_fields.end(), field) != family->own_fields.end();
  };
  const auto all = models::encoder_families();
  return has(&models::find_family(model_type)) || std::none_of(all.begin(), all.end(), has);
}

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

void refuse_what_changes_the_result(const Json& json, std::string_view where) {
  for (const char* field : {"is_decoder", "add_cross_attention", "is_encoder_decoder"}) {
    refuse_true(json, where, field);
  }
  const auto positions = json.find("position_embedding_type");
  const bool may_have_none = json.value("model_type", Json()) == "bert";
  if (positions != json.end() && *positions != "absolute" && !(may_have_none && *positions == "none")) {
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
    if (found != json.end() && family_has(config.model_type, field.name)) {
      read_hugging_face_field(*found, concat(where, ": ", field.name), field.name, config.*field.member);
    }
  });
}

/// {"0": "NEGATIVE", "1": "POSITIVE"}: every id from 0 on, in any order.
std::vector<std::string> read_labels(const Json& json, std::string_view where) {
  constexpr std::size_t kMostLabels = 1 << 20;
  if (!json.is_object() || json.empty() || json.size() > kMostLabels) {
    fail(ErrorKind::kFormat, where, ": id2label must be an object of 1 to ", kMostLabels, " labels");
  }
  std::vector<std::string> labels(json.size());
  std::vector<bool> seen(json.size(), false);
  for (const auto& [key, label] : json.items()) {
    // What is no id becomes the largest one, which does not fit.
    const auto id = static_cast<std::size_t>(integer_of(key).value_or(-1));
    const bool fits = id < labels.size() && !seen[id];
    if (!fits || !label.is_string()) {
      fail(ErrorKind::kFormat, where, ": id2label must name each id from 0 to ", labels.size() - 1,
           " once, by a string, found ", quote(key));
    }
    seen[id] = true;
    labels[id] = label.get<std::string>();
  }
  return labels;
}

void read_labels(EncoderConfig& config, const Json& json, std::string_view where) {
  if (const auto found = json.find("id2label"); found != json.end() && !found->is_null()) {
    config.id2label = read_labels(*found, where);
  } else if (const auto count = json.find("num_labels"); count != json.end() && !count->is_null()) {
    std::int64_t labels = 0;
    formats::read_value(*count, concat(where, ": num_labels"), labels);
    require(labels >= 1 && labels <= (1 << 20), where, ": num_labels must be from 1 to 1048576, found ", labels);
    config.id2label.clear();
    for (std::int64_t id = 0; id < labels; ++id) {
      config.id2label.push_back(concat("LABEL_", id));
    }
  }
  if (const auto found = json.find("problem_type"); found != json.end() && !found->is_null()) {
    formats::read_value(*found, concat(where, ": problem_type"), config.problem_type);
  }
  if (const auto found = json.find("architectures"); found != json.end() && !found->is_null()) {
    formats::read_value(*found, concat(where, ": architectures"), config.architectures);
  }
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

void write_labels(Json& json, const EncoderConfig& config) {
  Json names = Json::object();
  Json ids = Json::object();
  for (std::size_t id = 0; id < config.id2label.size(); ++id) {
    names[std::to_string(id)] = config.id2label[id];
    ids[config.id2label[id]] = id;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
  if (!config.problem_type.empty()) {
    json["problem_type"] = config.problem_type;
  }
}

}  // namespace

EncoderConfig encoder_config_from_json(const Json& json, std::string_view where) {
  const auto found = json.is_object() ? json.find("model_type") : json.end();
  if (!json.is_object() || found == json.end() || !found->is_string()) {
    fail(ErrorKind::kFormat, where, ": model_type must be one of ", models::encoder_types(", "), ", found none");
  }
  refuse_what_changes_the_result(json, where);
  EncoderConfig config;
  try {
    config = models::find_family(found->get<std::string>()).defaults;
  } catch (const Error& error) {
    fail(ErrorKind::kUnsupported, where, ": ", error.what());
  }
  read_fields(config, json, where);
  read_labels(config, json, where);
  models::validate(config, where);
  return config;
}

Json encoder_config_to_json(const models::EncoderModelImpl& model) {
  const EncoderConfig config = settled(model);
  Json json = {{"architectures", {models::architecture_name(config.model_type, model.head())}}};
  EncoderConfig::fields([&](const auto& field) {
    const auto& value = config.*field.member;
    const std::string name(field.name);
    if (!family_has(config.model_type, field.name) || (name == "attention" && config.attention.empty())) {
      return;
    }
    json[name] = value;
    if (may_be_null(name) && json[name] < 0) {
      json[name] = nullptr;
    }
    if (name == "attention_window" && config.attention_window.size() == 1) {
      json[name] = config.attention_window.front();  // transformers takes a list only when it has one for each layer
    }
  });
  if (model.head() == Head::kSequenceClassification || model.head() == Head::kTokenClassification) {
    write_labels(json, config);
  }
  const auto parameters = model.parameters();
  json["dtype"] = dtype_text(parameters.empty() ? at::kFloat : parameters.front().scalar_type());
  return json;
}

}  // namespace weft::checkpoint
