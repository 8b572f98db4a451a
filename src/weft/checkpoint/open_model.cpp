// SPDX-License-Identifier: Apache-2.0
// One reading of config.json, two ways of understanding it.
#include "weft/checkpoint/open_model.h"

#include <utility>

#include "weft/checkpoint/in_file/heads.h"
#include "weft/checkpoint/int8/quantization_config.h"
#include "weft/checkpoint/model_kind.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/families.h"
#include "weft/models/families/json/encoder_json.h"
#include "weft/models/families/json/pair_json.h"

namespace weft::checkpoint {

namespace {

// Old versions of sentence-transformers put the transformer into a folder of its own, 0_Transformer.
std::filesystem::path folder_of_model(const std::filesystem::path& directory) {
  return ModelFile(directory, "config.json").exists() ? directory : transformer_folder(directory);
}

}  // namespace

OpenedModel::OpenedModel(std::filesystem::path directory)
    : root_(std::move(directory)),
      path_(folder_of_model(root_)),
      json_(read_model_config(path_)),
      int8_(take_quantization(json_, (path_ / "config.json").string())) {}

const models::EncoderConfig& OpenedModel::encoder_config() const {
  if (!encoder_) {
    require_encoder(json_, path_);
    encoder_ = models::encoder_config_from_json(json_, (path_ / "config.json").string(), path_);
    choose_head(*encoder_, path_, wanted_);
  }
  return *encoder_;
}

bool OpenedModel::prefer(models::Head wanted) const {
  wanted_ = wanted;
  if (!encoder_) {
    return false;
  }
  const std::vector<std::string> before = encoder_->architectures;
  choose_head(*encoder_, path_, wanted);
  return encoder_->architectures != before;
}

void OpenedModel::need_floating(std::string_view what) const {
  if (int8_) {
    fail(ErrorKind::kUnsupported, quote(path_.native(), 4096), ": its weights are int8 (quantization_config of ",
         "config.json), but ", what, " needs floating-point weights: take the model that they were made from");
  }
}

models::Head OpenedModel::head() const {
  return encoder_config().head((path_ / "config.json").string() + ": architectures");
}

const models::EncoderDecoderConfig& OpenedModel::encoder_decoder_config() const {
  if (!pair_) {
    require_encoder_decoder(json_, path_);
    pair_ = models::pair_from_json(json_, path_);
  }
  return *pair_;
}

const models::CausalRules& OpenedModel::predictor() const {
  require_own_model(json_, path_);
  return *models::family_of(json_)->causal;
}

const models::TransformerConfig& OpenedModel::own_config() const {
  if (!own_) {
    own_ = predictor().from_json(json_, path_);
  }
  return *own_;
}

OpenedModel open_model(const std::filesystem::path& directory) { return OpenedModel(directory); }

const OpenedModel& ModelOnDemand::get() const { return opened_ ? *opened_ : opened_.emplace(directory_); }

}  // namespace weft::checkpoint
