// SPDX-License-Identifier: Apache-2.0
// Names of models are no paths: a name without its directory is the first mistake that everybody makes.
#include "weft/checkpoint/model_kind.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/family_names.h"

namespace weft::checkpoint {
namespace {

using formats::Json;

using models::FamilyKind;

constexpr std::string_view kOpensPairs = "weft translate, summarize, forward and info open an encoder-decoder";

std::string decoder_types() {
  std::vector<std::string_view> types;
  for (const models::FamilyName& family : models::kFamilyNames) {
    if (family.kind == FamilyKind::kCausal || family.kind == FamilyKind::kTwofold) {
      types.push_back(family.name);
    }
  }
  return models::in_words(types, " and ");
}

std::string what_opens() {
  return concat("Weft opens what weft train made, decoders of the types ", decoder_types(), ", encoders of the types ",
                models::encoder_types(" and "), ", and encoder-decoders of the types ",
                models::types_in_words(models::kEncoderDecoderTypes, " and "));
}

std::string quoted(const std::filesystem::path& path) { return quote(path.native(), 4096); }

// Empty where it is missing or no text, which those who read the whole config refuse.
std::string type_of(const Json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? type->get<std::string>() : std::string();
}

// The row of the list that the config names; null where it names none.
const models::FamilyName* family_named(const Json& config) { return models::find_family_name(type_of(config)); }

bool is_of(const Json& config, FamilyKind kind) {
  const models::FamilyName* const family = family_named(config);
  return family != nullptr && family->kind == kind;
}

bool reads_both_sides(const Json& config) {
  return is_of(config, FamilyKind::kTwofold) && config.value("is_decoder", Json(false)) == false;
}

// Its one class in `transformers`; empty where it names none, or several.
std::string class_of(const Json& config) {
  const Json classes = config.value("architectures", Json());
  const bool one = classes.is_array() && classes.size() == 1 && classes.front().is_string();
  return one ? classes.front().get<std::string>() : std::string();
}

// Whether that class has a head for a task, or none.
bool has_task(const Json& config) {
  const std::string name = class_of(config);
  return name.ends_with("ForSequenceClassification") || name.ends_with("ForQuestionAnswering") ||
         name.ends_with("Model");
}

// Whether it is the encoder of an encoder-decoder, without the decoder: T5EncoderModel.
bool is_encoder_of_pair(const Json& config) {
  return is_of(config, FamilyKind::kPair) && class_of(config).ends_with("EncoderModel");
}

// "bert-base-uncased" or "allenai/longformer-base-4096": letters, digits and a few signs, one slash at most.
bool looks_like_a_name(std::string_view path) {
  const auto fits = [](char byte) {
    return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '-' || byte == '_' || byte == '.' ||
           byte == '/';
  };
  return !path.empty() && std::isalnum(static_cast<unsigned char>(path.front())) != 0 &&
         std::all_of(path.begin(), path.end(), fits) && std::count(path.begin(), path.end(), '/') <= 1;
}

std::string how_to_get(const std::filesystem::path& given) {
  const std::filesystem::path directory = given.has_filename() ? given : given.parent_path();  // "name/" is "name"
  constexpr std::string_view kWhat =
      "a model is a directory with config.json, the weights and the tokeniser's files, given by its path";
  // A path that was made absolute on its way here is shown as it was given.
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  const std::string name = (error || directory.is_relative() ? directory : directory.lexically_relative(here)).string();
  if (!looks_like_a_name(name)) {
    return std::string(kWhat);
  }
  return concat(kWhat, "; to download one by its name: weft download ", name);
}

}  // namespace

void check_model_directory(const std::filesystem::path& directory) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(directory, error);
  if (std::filesystem::is_directory(status)) {
    return;
  }
  const bool there = std::filesystem::exists(status);
  const std::string reason = there ? "is a file, expected a directory"
                             : status.type() == std::filesystem::file_type::not_found ? "there is no such directory"
                                                                                      : error.message();
  throw Error(ErrorKind::kIo, concat("cannot open the model ", quoted(directory), ": ", reason),
              there ? "give the directory that the file lies in" : how_to_get(directory));
}

Json read_model_config(const std::filesystem::path& directory) {
  check_model_directory(directory);
  const ModelFile file(directory, "config.json");
  if (!file.exists()) {
    throw Error(ErrorKind::kIo, concat("cannot open the model ", quoted(directory), ": it has no config.json"),
                "a model is a directory with config.json, the weights and the tokeniser's files");
  }
  Json config = formats::read_json(file);
  const auto type = config.is_object() ? config.find("model_type") : config.end();
  if (!config.is_object() || type == config.end() || !type->is_string()) {
    const bool named = config.is_object() && type != config.end();
    throw Error(
        ErrorKind::kFormat,
        concat(file.path().string(), ": expected a string at model_type, found ", named ? type->type_name() : "none"),
        what_opens());
  }
  return config;
}

namespace {

const char* made_by(const Json& config) { return is_of(config, FamilyKind::kOwnPair) ? " that weft train made" : ""; }

}  // namespace

bool opens_as_predictor(const Json& config) {
  return is_of(config, FamilyKind::kOwn) || is_of(config, FamilyKind::kCausal) ||
         (is_of(config, FamilyKind::kTwofold) && !(reads_both_sides(config) && has_task(config)));
}

bool opens_as_encoder(const Json& config) {
  return is_of(config, FamilyKind::kEncoder) || reads_both_sides(config) || is_encoder_of_pair(config);
}

bool opens_as_pair(const Json& config) {
  return (is_of(config, FamilyKind::kPair) && !is_encoder_of_pair(config)) || is_of(config, FamilyKind::kOwnPair);
}

void require_encoder(const Json& config, const std::filesystem::path& directory) {
  if (opens_as_encoder(config)) {
    return;
  }
  const std::string file = (directory / "config.json").string();
  const std::string type = type_of(config);
  const std::string expected =
      concat(" (model_type ", type, "); expected an encoder of the types ", models::encoder_types(" or "));
  if (opens_as_pair(config)) {
    throw Error(ErrorKind::kUnsupported, concat(file, ": is an encoder-decoder", made_by(config), expected),
                std::string(kOpensPairs));
  }
  if (is_of(config, FamilyKind::kOwn)) {
    const auto decoder = config.find("is_decoder");
    const bool decodes = decoder == config.end() || *decoder == true;
    throw Error(
        ErrorKind::kUnsupported,
        concat(file, ": is a ", decodes ? "decoder" : "masked language model", " that weft train made", expected),
        concat(decodes ? "weft generate continues a text with it, weft eval measures it" : "weft eval measures it",
               "; for a task, weft train --task NAME --model ENCODER trains an encoder"));
  }
  if (opens_as_predictor(config)) {
    throw Error(ErrorKind::kUnsupported, concat(file, ": is ", family_named(config)->title, expected),
                "weft generate continues a text with it, weft eval measures it");
  }
  throw Error(ErrorKind::kUnsupported,
              concat(file, ": model_type must be one of ", models::encoder_types(", "), ", found ", quote(type)),
              what_opens());
}

void require_encoder_decoder(const Json& config, const std::filesystem::path& directory) {
  if (opens_as_pair(config)) {
    return;
  }
  if (is_encoder_of_pair(config)) {
    throw Error(ErrorKind::kUnsupported,
                concat((directory / "config.json").string(), ": is the encoder of ", family_named(config)->title,
                       " without its decoder (", class_of(config), "); expected an encoder-decoder"),
                "weft embed opens an encoder");
  }
  throw Error(ErrorKind::kUnsupported,
              concat((directory / "config.json").string(), ": model_type must be an encoder-decoder's, one of ",
                     models::types_in_words(models::kEncoderDecoderTypes, ", "), ", found ", quote(type_of(config)),
                     is_of(config, FamilyKind::kOwn) ? ", a decoder or encoder that weft train made" : ""),
              what_opens());
}

void require_own_model(const Json& config, const std::filesystem::path& directory) {
  if (opens_as_predictor(config)) {
    return;
  }
  const std::string file = (directory / "config.json").string();
  const std::string type = type_of(config);
  if (opens_as_pair(config)) {
    throw Error(ErrorKind::kFormat,
                concat(file, ": is an encoder-decoder", made_by(config), " (model_type ", type,
                       "); expected a decoder or encoder that weft train made"),
                std::string(kOpensPairs));
  }
  throw Error(
      ErrorKind::kFormat,
      concat(file, ": model_type must be weft, a model that weft train made, or a decoder's, found ", quote(type)),
      opens_as_encoder(config) ? "this is an encoder: weft fill-mask, embed, classify, tag, answer and choose open it"
                               : what_opens());
}

}  // namespace weft::checkpoint
