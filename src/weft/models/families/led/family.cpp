// SPDX-License-Identifier: Apache-2.0
// LED (Beltagy et al. 2020, section 6): BART whose encoder attends as Longformer does.
#include "weft/core/error.h"
#include "weft/models/encoder/windowed.h"
#include "weft/models/families/led/config.h"
#include "weft/models/families/pair_rules.h"
#include "weft/models/families/rows.h"

namespace weft::models {
namespace {

EncoderDecoderConfig led_defaults() {
  EncoderDecoderConfig config = bart_family().pair->defaults;
  config.model_type = "led";
  config.position_offset = 0;
  config.max_source_positions = 16384;
  config.own = OwnFields(LedFields{});
  return config;
}

std::vector<FieldName> led_fields() {
  std::vector<FieldName> fields = bart_family().pair->fields;
  // LED has no scale_embedding.
  std::erase_if(fields, [](const FieldName& field) { return field.weft == "scale_embedding"; });
  for (FieldName& field : fields) {
    if (field.weft == "max_source_positions") {
      field.hugging_face = "max_encoder_position_embeddings";
    } else if (field.weft == "max_target_positions") {
      field.hugging_face = "max_decoder_position_embeddings";
    }
  }
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
  names.insert(names.end(), bart_family().pair->names.begin(), bart_family().pair->names.end());
  return names;
}

void check_led(const EncoderDecoderConfig& config, std::string_view where) {
  check_windows(config.own.get<LedFields>().attention_window, config.encoder_layers, where);
}

std::string led_attention(const EncoderDecoderConfig& config, const EncoderOptions&, std::int64_t layer) {
  return windowed_pattern(config.own.get<LedFields>().window_of(layer));
}

layers::SelfAttentionFactory led_layer(const EncoderDecoderConfig&, const EncoderOptions&, bool) {
  return windowed_layer();
}

PassSettings led_passes(const EncoderDecoderConfig& config, const EncoderOptions& options) {
  PassSettings settings = one_source_pass(config, options);
  settings.zeroes_padding = true;
  return settings;
}

/// transformers writes a list.
void one_window_a_layer(EncoderDecoderConfig& config) {
  std::vector<std::int64_t>& window = config.own.get<LedFields>().attention_window;
  if (window.size() == 1) {
    window.resize(static_cast<std::size_t>(config.encoder_layers), window.front());
  }
}

void become_led(EncoderDecoderConfig& config) {
  require(config.model_type == "bart", "convert makes an led out of a bart, found ", config.model_type);
  require(!config.scale_embedding, "convert: an led does not scale its embeddings, but this bart does");
  config.model_type = "led";
  config.position_offset = 0;
  config.own = OwnFields(LedFields{});
  one_window_a_layer(config);
}

PairRules led_rules() {
  PairRules rules = *bart_family().pair;
  rules.class_name = "LEDForConditionalGeneration";
  rules.base_class = "LEDModel";
  rules.base_prefix = "led";
  rules.defaults = led_defaults();
  rules.fields = led_fields();
  rules.names = led_names();
  rules.second_names.push_back({"attention_probs_dropout_prob", "attention_dropout"});
  rules.second_names.push_back({"initializer_range", "init_std"});
  rules.check = check_led;
  rules.encoder_attention = led_attention;
  rules.encoder_layer = led_layer;
  rules.passes = led_passes;
  rules.adapt = become_led;
  rules.complete_own = one_window_a_layer;
  return rules;
}

}  // namespace

const Family& led_family() {
  static const PairRules rules = led_rules();
  static const Family family{.name = "led", .model_type = "led", .pair = &rules};
  return family;
}

}  // namespace weft::models
