// SPDX-License-Identifier: Apache-2.0
// From a request to an encoder-decoder.
#include "weft/checkpoint/new_models/new_pair.h"

#include <torch/utils.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/checkpoint/encoder_decoder/convert.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/models/families/pair_rules.h"
#include "weft/text/hugging_face.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::checkpoint {
namespace {

using models::EncoderDecoder;
using models::EncoderDecoderConfig;

EncoderDecoderConfig first_pair_config(const PairRequest& request) {
  if (request.config.empty()) {
    return models::pair_rules(request.family).defaults;
  }
  formats::Json json = formats::read_json(named_by_user(request.config));
  if (!request.family.empty() && json.is_object()) {
    const bool other = json.contains("model_type") && opens_as_pair(json) && json["model_type"] != request.family;
    require(!other, "weft init: ", option("config"), " is that of another encoder-decoder than ", option("family"), " ",
            request.family, "; leave ", option("family"), " out");
    json["model_type"] = request.family;
    json.erase("architectures");
  }
  return models::pair_from_json(json, request.config.parent_path());
}

/// Whether config.json of the family has the field.
bool has_field(const EncoderDecoderConfig& config, std::string_view name) {
  return models::pair_rules(config).has_field(name);
}

void check_fields_of_family(const EncoderDecoderConfig& config, const formats::Json& shape) {
  for (const auto& [name, value] : shape.items()) {
    require(has_field(config, name), "weft init: ", option(name), " is no setting of ", config.model_type);
  }
}

/// The id of a special token, or nothing.
std::optional<std::int64_t> special_id(const text::PairTokenizer& tokenizer, text::SpecialRole role,
                                       const char* token) {
  const auto* known = dynamic_cast<const text::HuggingFaceTokenizer*>(&tokenizer.side(text::Side::kTarget));
  return known != nullptr ? known->special(role) : tokenizer.find(token, text::Side::kTarget);
}

/// Sizes and ids that the tokeniser knows, where they were not given.
void fit_pair(EncoderDecoderConfig& config, const text::PairTokenizer& tokenizer, const formats::Json& given) {
  const EncoderDecoderConfig before = config;
  const auto set = [&](const char* name, auto& field, auto value) { field = given.contains(name) ? field : value; };
  const std::int64_t source = tokenizer.side(text::Side::kSource).vocabulary_size();
  const std::int64_t target = tokenizer.side(text::Side::kTarget).vocabulary_size();
  require(tokenizer.shared() || has_field(config, "decoder_vocab_size"),
          "weft init: the tokeniser numbers source and target apart, which ", config.model_type, " cannot");
  set("vocab_size", config.vocab_size, source);
  set("decoder_vocab_size", config.decoder_vocab_size, source == target ? std::int64_t{0} : target);
  if (!tokenizer.shared()) {
    set("share_embeddings", config.share_embeddings, false);
  }
  const auto special = [&](const char* name, std::int64_t& id, text::SpecialRole role, const char* token) {
    set(name, id, special_id(tokenizer, role, token).value_or(id));
  };
  special("pad_token_id", config.pad_token_id, text::SpecialRole::kPadding, "<pad>");
  special("bos_token_id", config.bos_token_id, text::SpecialRole::kBegin, "<s>");
  special("eos_token_id", config.eos_token_id, text::SpecialRole::kEnd, "</s>");
  // The decoder begins with one of the three, another one in each family.
  const std::int64_t start = before.decoder_start_token_id;
  set("decoder_start_token_id", config.decoder_start_token_id,
      start == before.pad_token_id   ? config.pad_token_id
      : start == before.eos_token_id ? config.eos_token_id
      : start == before.bos_token_id ? config.bos_token_id
                                     : start);
}

/// Random weights of a family.
EncoderDecoder fresh_pair(const PairRequest& request) {
  EncoderDecoderConfig config = first_pair_config(request);
  check_fields_of_family(config, request.shape);
  if (!request.tokenizer.empty()) {
    check_model_directory(request.tokenizer);
    fit_pair(config, *text::load_pair_tokenizer(request.tokenizer), request.shape);
  }
  if (request.shape.contains("encoder_attention")) {
    forget_directory(config);
  }
  formats::Json shape = request.shape;
  if (models::pair_rules(config).has_one_length()) {
    // One number in config.json: whichever was given is that of both.
    for (const auto& [given, other] : {std::pair{"max_source_positions", "max_target_positions"},
                                       std::pair{"max_target_positions", "max_source_positions"}}) {
      if (shape.contains(given) && !shape.contains(other)) {
        shape[other] = shape[given];
      }
    }
  }
  formats::update_from_json(config, shape, "weft init");
  config.alignment_layer =
      request.shape.contains("alignment_layer") ? config.alignment_layer : -1;  // no head has learned
  models::validate(config, "weft init");
  return EncoderDecoder(config);
}

/// What of the shape a warm start leaves open.
WarmStartOptions start_options(const PairRequest& request) {
  WarmStartOptions options;
  for (const auto& [name, value] : request.shape.items()) {
    std::int64_t* place = name == "decoder_layers"           ? &options.decoder_layers
                          : name == "max_target_positions"   ? &options.max_target_positions
                          : name == "eos_token_id"           ? &options.eos_token_id
                          : name == "decoder_start_token_id" ? &options.decoder_start_token_id
                                                             : nullptr;
    require(place != nullptr || name == "encoder_attention", "weft init: with ", option("encoder"),
            " the shape is the encoder's, and ", option(name), " cannot change it");
    if (place != nullptr) {
      *place = value.get<std::int64_t>();
    }
  }
  if (text::HuggingFaceTokenizer::present_in(request.encoder)) {
    const text::HuggingFaceTokenizer tokenizer(request.encoder);
    const auto take = [&](std::int64_t& id, text::SpecialRole role) {
      id = id >= 0 ? id : tokenizer.special(role).value_or(-1);
    };
    take(options.decoder_start_token_id, text::SpecialRole::kClass);
    take(options.eos_token_id, text::SpecialRole::kSeparator);
  }
  return options;
}

/// An encoder's weights on both sides.
EncoderDecoder started_pair(const PairRequest& request) {
  check_model_directory(request.encoder);
  const WarmStartOptions options = start_options(request);
  EncoderDecoderConfig given;
  formats::update_from_json(given, request.shape, "weft init");
  require(given.encoder_attention.size() <= 1, "weft init: with ", option("encoder"), ", ", option("encoder_attention"),
          " is one pattern for all layers");
  EncoderLoadOptions load;
  load.head = models::Head::kNone;
  load.encoder.attention = request.shape.contains("encoder_attention") ? given.encoder_attention.front() : "";
  const OpenedModel encoder = open_model(request.encoder);
  encoder.need_floating("a new model");
  return warm_start(load_encoder(encoder, load), options);
}

}  // namespace

bool asks_for_pair(const std::string& family, const std::filesystem::path& config) {
  if (!family.empty() || config.empty()) {
    const auto& types = models::kEncoderDecoderTypes;
    return std::find(types.begin(), types.end(), family) != types.end();
  }
  const formats::Json json = formats::read_json(named_by_user(config));
  return json.is_object() && opens_as_pair(json);
}

models::EncoderDecoder new_pair(const PairRequest& request) {
  torch::manual_seed(static_cast<std::uint64_t>(request.seed));
  return request.encoder.empty() ? fresh_pair(request) : started_pair(request);
}

}  // namespace weft::checkpoint
