// SPDX-License-Identifier: Apache-2.0
// The fields that ModernBERT has beyond those of every encoder, and which of its layers see the whole text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"

namespace weft::models {

struct ModernbertFields {
  std::int64_t global_attn_every_n_layers = 3;
  std::vector<std::string> layer_types = {};
  std::int64_t local_attention = 128;
  double global_rope_theta = 160000.0;
  double local_rope_theta = 10000.0;
  std::int64_t cls_token_id = 50281;
  bool norm_bias = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool decoder_bias = true;
  bool classifier_bias = false;
  std::string classifier_activation = "gelu";
  std::string classifier_pooling = "cls";
  double mlp_dropout = 0.0;
  double initializer_cutoff_factor = 2.0;

  static constexpr const char* kFull = "full_attention";
  static constexpr const char* kSliding = "sliding_attention";
  static bool is_layer_type(std::string_view name) { return name == kFull || name == kSliding; }

  /// Whether a layer sees the whole text.
  bool is_full(std::int64_t layer) const {
    return layer_types.empty() ? layer % global_attn_every_n_layers == 0
                               : layer_types.at(static_cast<std::size_t>(layer)) == kFull;
  }
  double theta_of(std::int64_t layer) const { return is_full(layer) ? global_rope_theta : local_rope_theta; }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ModernbertFields;
    visit(Field{"global_attn_every_n_layers", &C::global_attn_every_n_layers,
                "one layer in so many sees the whole text, the first one among them"}
              .range(1, 4096));
    visit(Field{"layer_types", &C::layer_types,
                "full_attention or sliding_attention for each layer, in place of one in so many"});
    visit(Field{"local_attention", &C::local_attention, "tokens of the other layers' window, half of them on each side"}
              .range(1, 1 << 24));
    visit(Field{"global_rope_theta", &C::global_rope_theta,
                "base of the rotary positions in layers that see the whole text"}
              .range(1.0, 1e12));
    visit(Field{"local_rope_theta", &C::local_rope_theta, "base of the rotary positions in the other layers"}.range(
        1.0, 1e12));
    visit(Field{"cls_token_id", &C::cls_token_id, "id of the token that classifiers read; -1 for none"}.range(-1,
                                                                                                              1 << 24));
    visit(Field{"norm_bias", &C::norm_bias, "norms have a bias"});
    visit(Field{"attention_bias", &C::attention_bias, "projections of attention have a bias"});
    visit(Field{"mlp_bias", &C::mlp_bias, "feed-forwards have a bias"});
    visit(Field{"decoder_bias", &C::decoder_bias, "scores of the vocabulary have a bias"});
    visit(Field{"classifier_bias", &C::classifier_bias, "the dense layer of the heads has a bias"});
    visit(Field{"classifier_activation", &C::classifier_activation, "activation in the heads"}.one_of(
        {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish"}));
    visit(Field{"classifier_pooling", &C::classifier_pooling,
                "a text's labels are scored from its first token (cls) or from the mean of all (mean)"}
              .one_of({"cls", "mean"}));
    visit(Field{"mlp_dropout", &C::mlp_dropout, "dropout inside of the feed-forward"}.range(0.0, 0.999));
    visit(Field{"initializer_cutoff_factor", &C::initializer_cutoff_factor,
                "initial weights lie within so many standard deviations of 0"}
              .range(0.1, 100.0));
  }
};

}  // namespace weft::models
