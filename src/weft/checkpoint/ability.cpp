// SPDX-License-Identifier: Apache-2.0
// Which model has which ability, and what is said of those that do not have it.
#include "weft/checkpoint/open_model.h"

#include "weft/checkpoint/model_kind.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::checkpoint {
namespace {

// A model of Weft's layers that predicts tokens: its config says what it goes on with.
bool draws(const models::TransformerConfig& config) { return !config.picture_shape.empty(); }

}  // namespace

bool OpenedModel::can(Ability ability) const {
  if (ability == Ability::kWrite) {
    if (!opens_as_pair(json_)) {
      return false;
    }
    encoder_decoder_config();
    return true;
  }
  const bool predicts = opens_as_predictor(json_);
  if (ability == Ability::kRead) {
    // A model for masked tokens may do both.
    if (opens_as_pair(json_) || (predicts && !opens_as_encoder(json_))) {
      return false;
    }
    encoder_config();
    return true;
  }
  if (!predicts || draws(own_config()) != (ability == Ability::kDraw)) {
    return false;
  }
  return ability != Ability::kContinue || own_config().is_decoder;
}

void OpenedModel::need(Ability ability) const {
  if (ability == Ability::kRead) {
    encoder_config();
    return;
  }
  if (ability == Ability::kWrite) {
    encoder_decoder_config();
    return;
  }
  const std::string name = quote(path_.native(), 4096);
  if (ability == Ability::kContinue && opens_as_pair(json_)) {
    throw Error(ErrorKind::kUnsupported,
                concat(name, ": an encoder-decoder continues no prompt, it writes a text for a source"),
                concat("weft translate and weft summarize write with it; weft generate takes the ids of sources with ",
                       option("input"), " and ", option("output")));
  }
  const models::TransformerConfig& config = own_config();
  if (ability == Ability::kDraw && !draws(config)) {
    throw Error(ErrorKind::kUnsupported, concat(name, ": expected a model of pictures, found one of text"),
                concat(option("prompt"), " continues a text; weft train ", option("train_images"),
                       " makes a model of pictures"));
  }
  if (ability != Ability::kDraw && draws(config)) {
    throw Error(ErrorKind::kUnsupported, concat(name, " holds a model of pictures, expected one of text"),
                "weft generate --image FILE --output FILE.png completes a picture, --keep-rows 0 --output FILE.png "
                "writes one anew; weft eval --images scores some");
  }
  if (ability == Ability::kContinue && !config.is_decoder) {
    throw Error(ErrorKind::kUnsupported,
                concat(name, " holds an encoder, which continues no prompt: it was trained on masked text"),
                "weft eval, weft info and weft attention open it; weft train without --encoder makes a decoder");
  }
}

}  // namespace weft::checkpoint
