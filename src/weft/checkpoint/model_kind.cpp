// SPDX-License-Identifier: Apache-2.0
// Names of models are no paths: a name without its directory is the first mistake that everybody makes.
#include "weft/checkpoint/model_kind.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/reformer/kind.h"
#include "weft/models/family_names.h"

namespace weft::checkpoint {
namespace {

using formats::Json;

constexpr std::string_view kOwn = "weft";
constexpr std::string_view kOpensPairs = "weft translate, summarize, forward and info open an encoder-decoder";

std::string decoder_types() {
  std::string words;
  for (const PublishedDecoderType& decoder : kPublishedDecoderTypes) {
    words += concat(words.empty() ? "" : " and ", decoder.type);
  }
  return words;
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

bool is_encoder(const std::string& type) {
  return std::find(models::kEncoderTypes.begin(), models::kEncoderTypes.end(), type) != models::kEncoderTypes.end();
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

const char* made_by(const std::string& type) { return type == kOwnPairType ? " that weft train made" : ""; }

}  // namespace

bool is_own_model(const Json& config) { return type_of(config) == kOwn; }

const PublishedDecoderType* published_decoder_type(const Json& config) {
  if (models::is_reformer_with_task(config)) {
    return nullptr;
  }
  const std::string type = type_of(config);
  const auto* const found = std::find_if(kPublishedDecoderTypes.begin(), kPublishedDecoderTypes.end(),
                                         [&](const PublishedDecoderType& decoder) { return decoder.type == type; });
  return found == kPublishedDecoderTypes.end() ? nullptr : found;
}

bool is_encoder_decoder(const Json& config) {
  const auto& types = models::kEncoderDecoderTypes;
  const std::string type = type_of(config);
  return type == kOwnPairType || std::find(types.begin(), types.end(), type) != types.end();
}

void require_encoder(const Json& config, const std::filesystem::path& directory) {
  const std::string file = (directory / "config.json").string();
  const std::string type = type_of(config);
  if (is_encoder_decoder(config)) {
    throw Error(ErrorKind::kUnsupported,
                concat(file, ": is an encoder-decoder", made_by(type), " (model_type ", type,
                       "); expected an encoder of the types ", models::encoder_types(" or ")),
                std::string(kOpensPairs));
  }
  if (models::is_reformer_encoder(config)) {
    return;
  }
  if (const PublishedDecoderType* const decoder = published_decoder_type(config)) {
    throw Error(ErrorKind::kUnsupported,
                concat(file, ": is ", decoder->name, " (model_type ", type, "); expected an encoder of the types ",
                       models::encoder_types(" or ")),
                "weft generate continues a text with it, weft eval measures it");
  }
  if (type == kOwn) {
    const auto decoder = config.find("is_decoder");
    const bool decodes = decoder == config.end() || *decoder == true;
    throw Error(
        ErrorKind::kUnsupported,
        concat(file, ": is a ", decodes ? "decoder" : "masked language model",
               " that weft train made (model_type weft); expected an encoder of the types ",
               models::encoder_types(" or ")),
        concat(decodes ? "weft generate continues a text with it, weft eval measures it" : "weft eval measures it",
               "; for a task, weft train --task NAME --model ENCODER trains an encoder"));
  }
  if (!is_encoder(type)) {
    throw Error(ErrorKind::kUnsupported,
                concat(file, ": model_type must be one of ", models::encoder_types(", "), ", found ", quote(type)),
                what_opens());
  }
}

void require_encoder_decoder(const Json& config, const std::filesystem::path& directory) {
  if (is_encoder_decoder(config)) {
    return;
  }
  const std::string type = type_of(config);
  throw Error(ErrorKind::kUnsupported,
              concat((directory / "config.json").string(), ": model_type must be an encoder-decoder's, one of ",
                     models::types_in_words(models::kEncoderDecoderTypes, ", "), ", found ", quote(type),
                     type == kOwn ? ", a decoder or encoder that weft train made" : ""),
              what_opens());
}

void require_own_model(const Json& config, const std::filesystem::path& directory) {
  const std::string type = type_of(config);
  if (is_encoder_decoder(config)) {
    throw Error(ErrorKind::kFormat,
                concat((directory / "config.json").string(), ": is an encoder-decoder", made_by(type), " (model_type ",
                       type, "); expected a decoder or encoder that weft train made"),
                std::string(kOpensPairs));
  }
  if (type == kOwn || published_decoder_type(config) != nullptr) {
    return;
  }
  throw Error(ErrorKind::kFormat,
              concat((directory / "config.json").string(),
                     ": model_type must be weft, a model that weft train made, found ", quote(type)),
              is_encoder(type) || models::is_reformer_with_task(config)
                  ? "this is an encoder: weft fill-mask, embed, classify, tag, answer and choose open it"
                  : what_opens());
}

}  // namespace weft::checkpoint
