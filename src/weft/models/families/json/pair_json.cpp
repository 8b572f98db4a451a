// SPDX-License-Identifier: Apache-2.0
// Fields of an EncoderDecoderConfig under the names of its family; what is no field of Weft's stays as it was.
#include "weft/models/families/json/pair_json.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/formats/tensor_file.h"
#include "weft/models/encoder_decoder.h"
#include "weft/models/families/json/hugging_face_fields.h"
#include "weft/models/families/pair_rules.h"

namespace weft::models {
namespace {

using formats::Json;

/// Fields that a Hugging Face config.json has by the name that they have here, where Weft wrote them.
constexpr std::array<std::string_view, 3> kOwnFields{"alignment_layer", "alignment_head", "right_to_left"};
/// Members of a Hugging Face config.json that Weft writes itself.
constexpr std::array<std::string_view, 5> kWritten{"architectures", "model_type", "is_encoder_decoder", "dtype",
                                                   "torch_dtype"};

/// Classes of a family that compute something else than an encoder-decoder with a vocabulary above it.
constexpr std::array<std::string_view, 7> kOtherPairClasses{
    "ForCausalLM", "ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification", "Encoder", "Decoder",
    "EncoderModel"};

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string class_of(const Json& json) {
  const auto found = json.find("architectures");
  const bool named = found != json.end() && found->is_array() && found->size() == 1 && found->front().is_string();
  return named ? found->front().get<std::string>() : std::string();
}

void refuse_half_a_model(const Json& json, const PairRules& rules, const std::string& where) {
  const auto is = [&](const char* field, bool value) {
    const auto found = json.find(field);
    return found != json.end() && *found == value;
  };
  if (is("is_decoder", true) || is("is_encoder_decoder", false)) {
    fail(ErrorKind::kUnsupported, where,
         ": the config is of half a model (is_decoder or is_encoder_decoder), but Weft ", "opens ",
         rules.defaults.model_type, " as an encoder-decoder only");
  }
  const auto pruned = json.find("pruned_heads");
  if (pruned != json.end() && !pruned->empty()) {
    fail(ErrorKind::kUnsupported, where, ": pruned_heads must be empty");
  }
}

/// Refuses classes of transformers that compute something else; one that nobody published is what its weights are.
void check_pair_class(const Json& json, const PairRules& rules, const std::string& where) {
  const auto found = json.find("architectures");
  const std::string name = class_of(json);
  if (found == json.end() || found->is_null() || found->empty() || name == rules.class_name ||
      name == rules.base_class) {
    return;
  }
  const std::string_view stem = rules.base_class.substr(0, rules.base_class.size() - std::string_view("Model").size());
  const bool published = std::any_of(kOtherPairClasses.begin(), kOtherPairClasses.end(),
                                     [&](std::string_view suffix) { return name == concat(stem, suffix); });
  if (published || name.empty()) {
    fail(ErrorKind::kUnsupported, where, ": architectures must be [\"", rules.class_name, "\"] or [\"",
         rules.base_class, "\"], found ", formats::quoted_json(*found));
  }
  log_warning(where, ": architectures names ", quote(name), ", which Weft does not know; the model is opened as ",
              rules.class_name);
}

/// The fields that the family's own are written behind.
constexpr std::string_view kBeforeOwn = "cross_attention";

/// Calls visit(rule, name, value) for the fields that the family's config.json has, in the order in which it is
/// written: the field, its name there, and the value in `config`.
template <typename Config, typename Visitor>
void each_pair_field(const PairRules& rules, Config& config, const Visitor& visit) {
  EncoderDecoderConfig::fields([&](const auto& field) {
    const std::string_view name = is_one_of(kOwnFields, field.name) ? field.name : rules.name_of(field.name);
    if (!name.empty()) {
      visit(field, std::string(name), config.*field.member);
    }
    if (field.name == kBeforeOwn) {
      config.own.each([&](const FieldRule& rule, auto& value) { visit(rule, std::string(rule.name), value); });
    }
  });
}

std::string other_settings(const Json& json, const PairRules& rules) {
  Json others = Json::object();
  for (const auto& [key, value] : json.items()) {
    const bool field =
        rules.defaults.own.has(key) || std::any_of(rules.fields.begin(), rules.fields.end(),
                                                   [&](const FieldName& name) { return name.hugging_face == key; });
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
Json value_that_counts(const SecondName& name, const Json& first, const Json& second,
                       const std::filesystem::path& directory) {
  if (name.first != "encoder_layers" || !first.is_number_integer()) {
    return name.first == "encoder_layers" ? first : second;
  }
  const std::optional<std::int64_t> layers = encoder_layers_in(directory);
  return layers && second == *layers ? second : first;
}

/// Every field under its first name; where two names of one field disagree, a warning says which value counts.
Json with_first_names(Json json, const PairRules& rules, const std::filesystem::path& directory) {
  for (const SecondName& second : rules.second_names) {
    const auto found = json.find(second.name);
    if (found == json.end()) {
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
                  ", but they are ", formats::quoted_json(value), " and ", formats::quoted_json(json[first]), "; ",
                  formats::quoted_json(counts), " is used");
      json[first] = counts;
    }
  }
  return json;
}

bool is_default(std::string_view field, const EncoderDecoderConfig& config) {
  const std::vector<std::string> full{"full"};
  if (field == "right_to_left") {
    return !config.right_to_left;
  }
  return (is_one_of(kOwnFields, field) && config.alignment_layer < 0) ||
         (field == "encoder_attention" && config.encoder_attention.empty()) ||
         (field == "decoder_attention" && config.decoder_attention == full) ||
         (field == "cross_attention" && config.cross_attention == full);
}

}  // namespace

EncoderDecoderConfig pair_from_json(const Json& json, const std::filesystem::path& directory) {
  const Family* const family = family_of(json);
  const bool known = family != nullptr && family->pair != nullptr;
  const PairRules& rules = known ? *family->pair : pair_rules(json.at("model_type").get<std::string>());
  EncoderDecoderConfig config = rules.from_json(rules, json, directory);
  config.directory = directory;
  validate(config, (directory / "config.json").string());
  return config;
}

Json pair_to_json(const EncoderDecoderImpl& model) {
  const EncoderDecoderConfig config = with_options(model.config(), model.options());
  const PairRules& rules = pair_rules(config);
  return rules.to_json(rules, config, model.parameters().front().scalar_type());
}

EncoderDecoderConfig pair_fields_from_json(const PairRules& rules, const Json& given,
                                           const std::filesystem::path& directory) {
  const std::string where = (directory / "config.json").string();
  refuse_half_a_model(given, rules, where);
  check_pair_class(given, rules, where);
  const Json json = with_first_names(given, rules, directory);
  EncoderDecoderConfig config = rules.defaults;
  each_pair_field(rules, config, [&](const FieldRule& field, const std::string& name, auto& value) {
    const auto found = json.find(name);
    const bool silent = found == json.end() || (found->is_null() && name == "decoder_vocab_size");
    if (!silent) {
      read_hugging_face_field(*found, concat(where, ": ", name), field.name, value);
    }
  });
  if (config.decoder_vocab_size == config.vocab_size) {
    config.decoder_vocab_size = 0;
  }
  config.other_settings = other_settings(json, rules);
  return config;
}

Json pair_fields_to_json(const PairRules& rules, const EncoderDecoderConfig& given, at::ScalarType dtype) {
  EncoderDecoderConfig config = given;
  // Two tables are untied to transformers, unless the family says otherwise in its config.
  config.tie_word_embeddings =
      config.tie_word_embeddings && (config.share_embeddings || rules.has_field("share_embeddings"));
  Json json = {{"architectures", {rules.class_name}}, {"model_type", config.model_type}, {"is_encoder_decoder", true}};
  each_pair_field(rules, config, [&](const FieldRule& field, const std::string& name, const auto& value) {
    if (is_default(field.name, config) || json.contains(name)) {
      return;
    }
    json[name] = value;
    if (may_be_null(field.name) && json[name] < 0) {
      json[name] = nullptr;
    }
    if (json[name].is_array() && json[name].size() == 1 && config.own.has(name)) {
      json[name] = json[name].front();  // one number for all layers
    }
  });
  if (json.contains("decoder_vocab_size")) {
    json["decoder_vocab_size"] = config.target_vocab_size();
  }
  if (!config.other_settings.empty()) {
    json.update(formats::parse_json(config.other_settings, "config.json"));
  }
  json["dtype"] = dtype_text(dtype);
  return json;
}

}  // namespace weft::models
