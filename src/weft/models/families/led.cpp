// SPDX-License-Identifier: Apache-2.0
// LED (Beltagy et al. 2020, section 6): BART whose encoder attends as Longformer does. The first token of a source is
// global unless the call names others, or none: summaries need it (section 6), and `transformers` leaves it to its
// callers.
#include "weft/models/encoder/windowed.h"
#include "weft/models/families/encoder_decoder_family.h"

namespace weft::models {
namespace {

EncoderDecoderConfig led_defaults() {
  EncoderDecoderConfig config = bart_family().defaults;
  config.model_type = "led";
  config.position_offset = 0;
  config.max_source_positions = 16384;
  return config;
}

std::vector<FieldName> led_fields() {
  std::vector<FieldName> fields = bart_family().fields;
  // LED has no scale_embedding.
  std::erase_if(fields, [](const FieldName& field) { return field.weft == "scale_embedding"; });
  for (FieldName& field : fields) {
    if (field.weft == "max_source_positions") {
      field.hugging_face = "max_encoder_position_embeddings";
    } else if (field.weft == "max_target_positions") {
      field.hugging_face = "max_decoder_position_embeddings";
    }
  }
  fields.push_back({"attention_window", "attention_window"});
  return fields;
}

std::vector<NameRow> led_names() {
  std::vector<NameRow> names = {
      {"encoder.layers.#.attention.qkv",
       {"~encoder.layers.#.self_attn.longformer_self_attn.query",
        "~encoder.layers.#.self_attn.longformer_self_attn.key",
        "~encoder.layers.#.self_attn.longformer_self_attn.value"}},
      {"encoder.layers.#.attention.global_qkv",
       {"~encoder.layers.#.self_attn.longformer_self_attn.query_global",
        "~encoder.layers.#.self_attn.longformer_self_attn.key_global",
        "~encoder.layers.#.self_attn.longformer_self_attn.value_global"}},
      {"encoder.layers.#.attention.output", {"~encoder.layers.#.self_attn.output"}},
  };
  names.insert(names.end(), bart_family().names.begin(), bart_family().names.end());
  return names;
}

void check_led(const EncoderDecoderConfig& config, std::string_view where) {
  check_windows(config.attention_window, config.encoder_layers, where);
}

std::string led_attention(const EncoderDecoderConfig& config, const EncoderOptions&, std::int64_t layer) {
  return windowed_pattern(config.attention_window_of(layer));
}

layers::SelfAttentionFactory led_layer(const EncoderDecoderConfig&, const EncoderOptions&, bool) {
  return windowed_layer();
}

PassSettings led_passes(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  PassSettings settings = one_pass(config, options);
  settings.zeroes_padding = true;
  return settings;
}

EncoderDecoderFamily make_led() {
  EncoderDecoderFamily family = bart_family();
  family.model_type = "led";
  family.class_name = "LEDForConditionalGeneration";
  family.base_class = "LEDModel";
  family.base_prefix = "led";
  family.defaults = led_defaults();
  family.fields = led_fields();
  family.names = led_names();
  family.first_token_is_global = true;
  family.check = check_led;
  family.encoder_attention = led_attention;
  family.encoder_layer = led_layer;
  family.passes = led_passes;
  return family;
}

}  // namespace

const EncoderDecoderFamily& led_family() {
  static const EncoderDecoderFamily family = make_led();
  return family;
}

}  // namespace weft::models
