// SPDX-License-Identifier: Apache-2.0
// Which field wins is the order of CrossEncoder: config_sentence_transformers.json of a directory with modules.json,
// `sentence_transformers` in config.json, `sbert_ce_default_activation_function` in config.json, the number of labels.
#include "weft/checkpoint/sentence/cross_encoder.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "weft/core/disk/model_file.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

using formats::Json;

constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";

// The string at `field`, or nothing where there is none or null.
std::optional<std::string> text_at(const Json& json, const char* field, const std::string& where) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) {
    return std::nullopt;
  }
  std::string text;
  formats::read_value(*found, concat(where, ": ", field), text);
  return text;
}

// The object at `field`, or nothing where there is none or null.
const Json* object_at(const Json& json, const char* field, const std::string& where) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) {
    return nullptr;
  }
  if (!found->is_object()) {
    fail(ErrorKind::kFormat, where, ": ", field, ": expected an object, found ", found->type_name());
  }
  return &*found;
}

void take_activation(CrossEncoderSettings& settings, const Json& json, const char* field, const std::string& where) {
  if (!settings.where.empty()) {
    return;
  }
  if (std::optional<std::string> path = text_at(json, field, where)) {
    settings.activation = std::move(*path);
    settings.where = concat(where, ": ", field);
  }
}

void take_prompt(CrossEncoderSettings& settings, const Json& json, const std::string& where) {
  const std::optional<std::string> name = text_at(json, "default_prompt_name", where);
  if (!name || name->empty()) {
    return;
  }
  const Json* const prompts = object_at(json, "prompts", where);
  if (prompts == nullptr || !prompts->contains(*name)) {
    fail(ErrorKind::kFormat, where, ": default_prompt_name is ", quote(*name), ", which is not among the prompts");
  }
  settings.prompt = text_at(*prompts, name->c_str(), concat(where, ": prompts")).value_or("");
}

// What the library wrote about the whole directory. Settings of an embedder are not a cross-encoder's.
void take_library_settings(CrossEncoderSettings& settings, const std::filesystem::path& directory) {
  const ModelFile file(directory, "config_sentence_transformers.json");
  if (!ModelFile(directory, "modules.json").exists() || !file.exists()) {
    return;
  }
  const Json json = formats::read_json(file);
  const std::string where = file.path().string();
  if (!json.is_object()) {
    fail(ErrorKind::kFormat, where, ": expected an object, found ", json.type_name());
  }
  if (text_at(json, "model_type", where) != "CrossEncoder") {
    return;
  }
  take_activation(settings, json, "activation_fn", where);
  take_prompt(settings, json, where);
}

}  // namespace

bool is_cross_encoder(const OpenedModel& directory) {
  return directory.can(Ability::kRead) && directory.head() == models::Head::kSequenceClassification &&
         load_encoder_config(directory).num_labels() == 1;
}

CrossEncoderSettings read_cross_encoder(const OpenedModel& directory) {
  CrossEncoderSettings settings;
  take_library_settings(settings, directory.root());
  const std::string where = (directory.path() / "config.json").string();
  const Json* const library = object_at(directory.json(), "sentence_transformers", where);
  if (library != nullptr && library->contains("activation_fn")) {
    take_activation(settings, *library, "activation_fn", where + ": sentence_transformers");
  } else {
    take_activation(settings, directory.json(), "sbert_ce_default_activation_function", where);
  }
  if (settings.where.empty() && load_encoder_config(directory).num_labels() > 1) {
    settings.activation = kIdentity;
  }
  return settings;
}

}  // namespace weft::checkpoint
