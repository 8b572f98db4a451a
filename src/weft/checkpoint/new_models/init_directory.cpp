// SPDX-License-Identifier: Apache-2.0
// The shape first, then what a tokeniser knows of it, then what was given.
#include "weft/checkpoint/new_models/init_directory.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/new_models/family_attention.h"
#include "weft/checkpoint/new_models/new_directory.h"
#include "weft/checkpoint/new_models/new_pair.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/core/work/watched_progress.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/text/hugging_face.h"

namespace weft::checkpoint {
namespace {

void check_family(const std::string& family) {
  const auto is_one = [&](const auto& types) { return std::find(types.begin(), types.end(), family) != types.end(); };
  if (!family.empty() && !is_one(models::kEncoderTypes) && !is_one(models::kEncoderDecoderTypes)) {
    throw UsageError(concat("weft init: ", option("family"), " must be one of ", models::encoder_types(", "), ", ",
                            models::types_in_words(models::kEncoderDecoderTypes, " or "), ", found ", quote(family)));
  }
}

// A config.json, or the directory that holds one.
std::filesystem::path config_file(const InitRequest& request) {
  std::filesystem::path file = request.config;
  if (!std::filesystem::exists(file)) {
    check_model_directory(file);  // says how to get one
  }
  if (std::filesystem::is_directory(file)) {
    file /= "config.json";
    check_stays_within(request.config, file);
  }
  return file;
}

// What request.config names, else the family's base size.
models::EncoderConfig first_config(const InitRequest& request) {
  if (request.config.empty()) {
    return models::base_config(request.family.empty() ? models::EncoderConfig().model_type : request.family);
  }
  const std::filesystem::path file = config_file(request);
  formats::Json json = formats::read_json(named_by_user(file));
  if (!request.family.empty() && json.is_object()) {
    json["model_type"] = request.family;
  }
  models::EncoderConfig config = models::encoder_config_from_json(json, quote(file.native(), 4096));
  require(models::is_family(config.model_type, models::FamilyKind::kEncoder), "weft init: ", option("config"),
          " must be that of one of ", models::encoder_types(", "), ", found ", Quoted(config.model_type));
  // Files that the request names lie in the working directory.
  config.directory = request.shape.contains("attention") ? std::filesystem::path() : file.parent_path();
  return config;
}

// Sizes and ids that the tokeniser knows, where they were not given.
void fit_vocabulary(models::EncoderConfig& config, const text::HuggingFaceTokenizer& tokenizer,
                    const formats::Json& given) {
  if (!given.contains("vocab_size")) {
    config.vocab_size = tokenizer.vocabulary_size();
  }
  const auto take = [&](const char* name, std::int64_t& id, text::SpecialRole role) {
    if (!given.contains(name)) {
      id = tokenizer.special(role).value_or(id);
    }
  };
  take("pad_token_id", config.pad_token_id, text::SpecialRole::kPadding);
  take("sep_token_id", config.sep_token_id, text::SpecialRole::kSeparator);
  if (const models::EncoderRules& rules = models::encoder_rules(config); rules.fit != nullptr) {
    rules.fit(config, tokenizer, given);
  }
}

// An option that the model does not read.
void check_shape_options(const formats::Json& shape, const models::EncoderConfig& config) {
  for (const auto& [name, value] : shape.items()) {
    require_family_setting("weft init", name, name, config);
  }
}

NewModel init_pair(const InitRequest& request, std::int64_t seed) {
  for (const char* name : {"head", "labels"}) {
    require(!request.given.contains(name), "weft init: ", option(name),
            " is for encoders, but an encoder-decoder was asked for");
  }
  const std::filesystem::path file = request.config.empty() ? std::filesystem::path() : config_file(request);
  const BusyBar bar("making the model");
  const models::EncoderDecoder model =
      new_pair({request.family, file, request.encoder, request.tokenizer, request.shape, seed});
  save_encoder_decoder(request.out, model, request.tokenizer.empty() ? request.encoder : request.tokenizer,
                       FilesTaken::kTokenizer);
  return new_model(model);
}

// Labels that a head has, and that tell classes apart.
void check_labels(const InitConfig& init) {
  if (!models::has_labels(models::parse_head(init.head))) {
    throw UsageError(concat(option("labels"), " is for a head with labels, found ", option("head"), " ", init.head),
                     concat("for example: ", option("head"), " sequence-classification"));
  }
  std::set<std::string_view> seen;
  for (const std::string& label : init.labels) {
    if (label.find_first_not_of(" \t\r\n") == std::string::npos || !seen.insert(label).second) {
      throw UsageError(concat(option("labels"), ": each label is a name of its own, found ", quote(label),
                              seen.contains(label) ? " twice" : ""));
    }
  }
}

}  // namespace

NewModel init_directory(const InitRequest& request) {
  InitConfig init;
  formats::update_from_json(init, request.given, "weft init");
  require_no_model(request.out);
  if (!request.encoder.empty() && (!request.family.empty() || !request.config.empty())) {
    throw UsageError(concat("weft init: ", option("encoder"), " decides family and shape"),
                     concat("leave ", option("family"), " and ", option("config"), " out"));
  }
  if (!request.encoder.empty() && !request.tokenizer.empty()) {
    throw UsageError(concat(option("tokenizer"), " cannot go with ", option("encoder"),
                            ", whose embeddings belong to its own tokeniser"),
                     concat("leave ", option("tokenizer"), " out: the encoder's is copied"));
  }
  check_family(request.family);
  if (!request.encoder.empty() ||
      asks_for_pair(request.family, request.config.empty() ? std::filesystem::path() : config_file(request))) {
    return init_pair(request, init.seed);
  }
  models::EncoderConfig config = first_config(request);
  if (!request.tokenizer.empty()) {
    check_model_directory(request.tokenizer);
    fit_vocabulary(config, text::HuggingFaceTokenizer(request.tokenizer), request.shape);
  }
  models::update_fields(config, request.shape, "weft init");
  check_shape_options(request.shape, config);
  if (!init.labels.empty()) {
    check_labels(init);
    config.id2label = init.labels;
  }
  models::list_attention(config);
  models::validate(config, "weft init");
  const BusyBar bar("making the model");
  const models::EncoderModel model =
      models::make_encoder(config, models::parse_head(init.head), static_cast<std::uint64_t>(init.seed));
  warn_without_order(config);
  save_encoder(request.out, model, request.tokenizer);
  return new_model(model);
}

}  // namespace weft::checkpoint
