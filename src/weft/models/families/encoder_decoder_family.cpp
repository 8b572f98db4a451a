// SPDX-License-Identifier: Apache-2.0
// The table of encoder-decoder families.
#include "weft/models/families/encoder_decoder_family.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/models/encoder/block_sparse.h"

namespace weft::models {
namespace {

layers::SelfAttentionFactory own_layer(const EncoderDecoderConfig& config, const EncoderOptions& options, bool) {
  const bool full = config.encoder_full_until > 0 && options.attention.empty();
  return full ? short_full_layer(config.encoder_full_until) : layers::SelfAttentionFactory();
}

PassSettings own_passes(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  PassSettings settings = one_pass(config, options);
  settings.full_until = config.encoder_full_until > 0 && options.attention.empty() ? config.encoder_full_until : -1;
  return settings;
}

/// Weft's own: whatever the fields say, in directories of Weft's own form.
const EncoderDecoderFamily& own_family() {
  static const EncoderDecoderFamily family = [] {
    EncoderDecoderFamily own;
    own.model_type = "weft";
    own.class_name = "WeftForConditionalGeneration";
    own.base_prefix = "";
    own.encoder_layer = own_layer;
    own.passes = own_passes;
    return own;
  }();
  return family;
}

}  // namespace

std::span<const EncoderDecoderFamily* const> encoder_decoders() {
  static const std::array families{&marian_family(), &bart_family(), &pegasus_family(), &bigbird_pegasus_family(),
                                   &led_family()};
  return families;
}

const EncoderDecoderFamily& find_encoder_decoder(std::string_view model_type) {
  if (model_type == own_family().model_type) {
    return own_family();
  }
  for (const EncoderDecoderFamily* family : encoder_decoders()) {
    if (family->model_type == model_type) {
      return *family;
    }
  }
  const auto name = [](const EncoderDecoderFamily* family) { return family->model_type; };
  fail(ErrorKind::kArgument, "model_type of an encoder-decoder must be one of weft, ",
       joined(encoder_decoders(), ", ", name), ", found ", quote(model_type));
}

bool has_one_length(const EncoderDecoderFamily& family) {
  const auto name = [&](std::string_view field) {
    const auto found = std::find_if(family.fields.begin(), family.fields.end(),
                                    [&](const FieldName& known) { return known.weft == field; });
    return found == family.fields.end() ? std::string_view() : found->hugging_face;
  };
  const std::string_view source = name("max_source_positions");
  return !source.empty() && source == name("max_target_positions");
}

void accept_all(const EncoderDecoderConfig&, std::string_view) {}
std::string full_source(const EncoderDecoderConfig&, const EncoderOptions&, std::int64_t) { return "full"; }
layers::SelfAttentionFactory plain_source(const EncoderDecoderConfig&, const EncoderOptions&, bool) { return {}; }

PassSettings one_pass(const EncoderDecoderConfig& config, const EncoderOptions&) {
  PassSettings settings;
  settings.padding_id = config.pad_token_id;
  settings.position_rows = config.max_source_positions;
  return settings;
}

}  // namespace weft::models
