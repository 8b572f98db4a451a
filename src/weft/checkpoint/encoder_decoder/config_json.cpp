// SPDX-License-Identifier: Apache-2.0
// Fields of an EncoderDecoderConfig under the names of its family; what is no field of Weft's stays as it was.
#include "weft/checkpoint/encoder_decoder/config_json.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "weft/checkpoint/model_kind.h"
#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/formats/tensor_file.h"
#include "weft/models/families/encoder_decoder_family.h"
#include "weft/models/families/json/hugging_face_fields.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderDecoderConfig;
using models::EncoderDecoderFamily;

constexpr std::string_view kOwnPair = "weft";
constexpr std::string_view kOwnClass = "WeftForConditionalGeneration";

/// Fields that mean nothing in a model of Weft's own.
constexpr std::array<std::string_view, 4> kFamilyFields{"attention_window", "attention_type", "block_size",
                                                        "num_random_blocks"};
/// Fields that a Hugging Face config.json has by the name that they have here, where Weft wrote them.
constexpr std::array<std::string_view, 2> kOwnFields{"alignment_layer", "alignment_head"};
/// Members of a Hugging Face config.json that Weft writes itself.
constexpr std::array<std::string_view, 5> kWritten{"architectures", "model_type", "is_encoder_decoder", "dtype",
                                                   "torch_dtype"};

/// Classes of a family that compute something else than an encoder-decoder with a vocabulary above it.
constexpr std::array<std::string_view, 6> kOtherPairClasses{
    "ForCausalLM", "ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification", "Encoder", "Decoder"};

/// A second name that `transformers` has for a field: `attribute_map` of its configs.
struct SecondName {
  std::string_view name;
  std::string_view first;
  std::string_view families;  ///< empty: of all
};
constexpr std::array<SecondName, 5> kSecondNames{
    {{"hidden_size", "d_model", ""},
     {"num_hidden_layers", "encoder_layers", ""},
     {"num_attention_heads", "encoder_attention_heads", ""},
     {"attention_probs_dropout_prob", "attention_dropout", "bigbird_pegasus led"},
     {"initializer_range", "init_std", "led"}}};

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string shown(const Json& json) { return quote(json.dump(-1, ' ', true, Json::error_handler_t::replace)); }

std::string class_of(const Json& json) {
  const auto found = json.find("architectures");
  const bool named = found != json.end() && found->is_array() && found->size() == 1 && found->front().is_string();
  return named ? found->front().get<std::string>() : std::string();
}

// --- Weft's own

EncoderDecoderConfig own_from_json(const Json& json, const std::string& where) {
  EncoderDecoderConfig config;
  Json fields = json;
  for (const char* name : {"architectures", "model_type", "is_encoder_decoder", "weft_version"}) {
    fields.erase(name);
  }
  formats::update_from_json(config, fields, where);
  EncoderDecoderConfig::fields([&](const auto& field) {
    const bool needed = field.version.empty() && !is_one_of(kFamilyFields, field.name);
    if (needed && !json.contains(std::string(field.name))) {
      fail(ErrorKind::kFormat, where, ": ", field.name, " is missing (", field.help, ")");
    }
  });
  return config;
}

Json own_to_json(const EncoderDecoderConfig& config) {
  Json json = {{"architectures", {kOwnClass}},
               {"model_type", kOwnPairType},
               {"is_encoder_decoder", true},
               {"weft_version", kVersion}};
  json.update(formats::to_json(config));
  for (const std::string_view name : kFamilyFields) {
    json.erase(std::string(name));
  }
  return json;
}

// --- Hugging Face's

void refuse_half_a_model(const Json& json, const EncoderDecoderFamily& family, const std::string& where) {
  const auto is = [&](const char* field, bool value) {
    const auto found = json.find(field);
    return found != json.end() && *found == value;
  };
  if (is("is_decoder", true) || is("is_encoder_decoder", false)) {
    fail(ErrorKind::kUnsupported, where,
         ": the config is of half a model (is_decoder or is_encoder_decoder), but Weft ", "opens ", family.model_type,
         " as an encoder-decoder only");
  }
  const auto pruned = json.find("pruned_heads");
  if (pruned != json.end() && !pruned->empty()) {
    fail(ErrorKind::kUnsupported, where, ": pruned_heads must be empty");
  }
}

/// Refuses classes of transformers that compute something else; one that nobody published is what its weights are.
void check_pair_class(const Json& json, const EncoderDecoderFamily& family, const std::string& where) {
  const auto found = json.find("architectures");
  const std::string name = class_of(json);
  if (found == json.end() || found->is_null() || found->empty() || name == family.class_name ||
      name == family.base_class) {
    return;
  }
  const std::string_view stem =
      family.base_class.substr(0, family.base_class.size() - std::string_view("Model").size());
  const bool published = std::any_of(kOtherPairClasses.begin(), kOtherPairClasses.end(),
                                     [&](std::string_view suffix) { return name == concat(stem, suffix); });
  if (published || name.empty()) {
    fail(ErrorKind::kUnsupported, where, ": architectures must be [\"", family.class_name, "\"] or [\"",
         family.base_class, "\"], found ", shown(*found));
  }
  log_warning(where, ": architectures names ", quote(name), ", which Weft does not know; the model is opened as ",
              family.class_name);
}

/// The name of a field in the family's config.json; empty where it has none.
std::string name_of(const EncoderDecoderFamily& family, std::string_view field) {
  if (is_one_of(kOwnFields, field)) {
    return std::string(field);
  }
  const auto found = std::find_if(family.fields.begin(), family.fields.end(),
                                  [&](const models::FieldName& name) { return name.weft == field; });
  return found == family.fields.end() ? std::string() : std::string(found->hugging_face);
}

std::string other_settings(const Json& json, const EncoderDecoderFamily& family) {
  Json others = Json::object();
  for (const auto& [key, value] : json.items()) {
    const bool field = std::any_of(family.fields.begin(), family.fields.end(),
                                   [&](const models::FieldName& name) { return name.hugging_face == key; });
    if (!field && !is_one_of(kWritten, key) && !is_one_of(kOwnFields, key)) {
      others[key] = value;
    }
  }
  return others.empty() ? std::string() : others.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Layers of the encoder in the weights of `directory`; nothing where none can be read, which the loader says.
std::optional<std::int64_t> encoder_layers_in(const std::filesystem::path& directory) {
  constexpr std::string_view kLayers = "encoder.layers.";
  try {
    std::set<std::int64_t> layers;
    const std::unique_ptr<formats::TensorFile> file = formats::open_tensor_directory(directory);
    for (const formats::TensorInfo& tensor : file->tensors()) {
      const std::size_t found = tensor.name.find(kLayers);
      const std::size_t number = found + kLayers.size();
      if (found != std::string::npos) {
        layers.insert(integer_of(tensor.name.substr(number, tensor.name.find('.', number) - number)).value_or(0));
      }
    }
    return layers.empty() ? std::nullopt : std::optional(static_cast<std::int64_t>(layers.size()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Which of two values of a field counts: the second name's, as in transformers 5; the number of layers is that of the
/// weights, because transformers 4 took the first name's there.
const Json& value_that_counts(const SecondName& name, const Json& first, const Json& second,
                              const std::filesystem::path& directory) {
  if (name.first != "encoder_layers" || !first.is_number_integer()) {
    return name.first == "encoder_layers" ? first : second;
  }
  const std::optional<std::int64_t> layers = encoder_layers_in(directory);
  return layers && second == *layers ? second : first;
}

/// Every field under its first name; where two names of one field disagree, a warning says which value counts.
Json with_first_names(Json json, const EncoderDecoderFamily& family, const std::filesystem::path& directory) {
  for (const SecondName& second : kSecondNames) {
    const auto found = json.find(second.name);
    const bool known = second.families.empty() || second.families.find(family.model_type) != std::string_view::npos;
    if (found == json.end() || !known) {
      continue;
    }
    const Json value = std::move(*found);
    json.erase(found);
    const std::string first(second.first);
    if (value.is_null()) {
      continue;
    }
    if (!json.contains(first)) {
      json[first] = value;
    } else if (json[first] != value) {
      const Json counts = value_that_counts(second, json[first], value, directory);
      log_warning((directory / "config.json").string(), ": ", second.name, " is another name of ", first,
                  ", but they are ", shown(value), " and ", shown(json[first]), "; ", shown(counts), " is used");
      json[first] = counts;
    }
  }
  return json;
}

EncoderDecoderConfig family_from_json(const Json& given, const EncoderDecoderFamily& family,
                                      const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  refuse_half_a_model(given, family, where);
  check_pair_class(given, family, where);
  const Json json = with_first_names(given, family, directory);
  EncoderDecoderConfig config = family.defaults;
  EncoderDecoderConfig::fields([&](const auto& field) {
    const std::string name = name_of(family, field.name);
    const auto found = name.empty() ? json.end() : json.find(name);
    const bool silent = found == json.end() || (found->is_null() && name == "decoder_vocab_size");
    if (!silent) {
      models::read_hugging_face_field(*found, concat(where, ": ", name), field.name, config.*field.member);
    }
  });
  if (config.decoder_vocab_size == config.vocab_size) {
    config.decoder_vocab_size = 0;
  }
  config.other_settings = other_settings(json, family);
  return config;
}

bool is_default(std::string_view field, const EncoderDecoderConfig& config) {
  const std::vector<std::string> full{"full"};
  return (is_one_of(kOwnFields, field) && config.alignment_layer < 0) ||
         (field == "encoder_attention" && config.encoder_attention.empty()) ||
         (field == "decoder_attention" && config.decoder_attention == full) ||
         (field == "cross_attention" && config.cross_attention == full);
}

Json family_to_json(const EncoderDecoderConfig& config, at::ScalarType dtype) {
  const EncoderDecoderFamily& family = models::find_encoder_decoder(config.model_type);
  Json json = {{"architectures", {family.class_name}}, {"model_type", config.model_type}, {"is_encoder_decoder", true}};
  EncoderDecoderConfig::fields([&](const auto& field) {
    const std::string name = name_of(family, field.name);
    if (name.empty() || is_default(field.name, config) || json.contains(name)) {
      return;
    }
    json[name] = config.*field.member;
    if (models::may_be_null(field.name) && json[name] < 0) {
      json[name] = nullptr;
    }
  });
  if (json.contains("decoder_vocab_size")) {
    json["decoder_vocab_size"] = config.target_vocab_size();
  }
  if (config.attention_window.size() == 1 && json.contains("attention_window")) {
    json["attention_window"] = config.attention_window.front();
  }
  if (!config.other_settings.empty()) {
    json.update(formats::parse_json(config.other_settings, "config.json"));
  }
  json["dtype"] = models::dtype_text(dtype);
  return json;
}

/// The config that the model runs by, its options included.
EncoderDecoderConfig as_it_runs(const models::EncoderDecoderImpl& model) {
  EncoderDecoderConfig config = model.config();
  const models::EncoderOptions& options = model.options();
  if (!options.attention.empty()) {
    config.encoder_attention = {options.attention};
    config.encoder_full_until = 0;  // belonged to the pattern that is replaced
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
  // Two tables are untied to transformers, unless the family says otherwise in its config.
  const EncoderDecoderFamily& family = models::find_encoder_decoder(config.model_type);
  if (config.model_type != kOwnPair && !family.shares_by_field && !config.share_embeddings) {
    config.tie_word_embeddings = false;
  }
  return config;
}

}  // namespace

EncoderDecoderConfig encoder_decoder_from_json(const Json& json, const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  const std::string type = json.at("model_type").get<std::string>();
  EncoderDecoderConfig config = type == kOwnPairType
                                    ? own_from_json(json, where)
                                    : family_from_json(json, models::find_encoder_decoder(type), directory);
  config.directory = directory;
  models::validate(config, where);
  return config;
}

Json encoder_decoder_to_json(const models::EncoderDecoderImpl& model) {
  const EncoderDecoderConfig config = as_it_runs(model);
  if (config.model_type == kOwnPair) {
    return own_to_json(config);
  }
  return family_to_json(config, model.parameters().front().scalar_type());
}

}  // namespace weft::checkpoint
