// SPDX-License-Identifier: Apache-2.0
// The fields that T5 and the families that descend from it have beyond those of every encoder-decoder.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"
#include "weft/models/encoder_decoder_config.h"

namespace weft::models {

struct T5Fields {
  std::int64_t d_kv = 64;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  std::string feed_forward_proj = "relu";
  bool scale_decoder_outputs = true;
  double initializer_factor = 1.0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = T5Fields;
    visit(Field{"d_kv", &C::d_kv, "columns of an attention head"}.range(1, 1 << 16));
    visit(Field{"relative_attention_num_buckets", &C::relative_attention_num_buckets,
                "scores of distances that a head learns, half of them for keys behind the query in an encoder"}
              .range(4, 1 << 16));
    visit(Field{"relative_attention_max_distance", &C::relative_attention_max_distance,
                "distance from which on all have the same score"}
              .range(2, 1 << 24));
    visit(Field{"feed_forward_proj", &C::feed_forward_proj,
                "activation of the feed-forward, `gated-` before it for one with a gate"}
              .one_of({"relu", "gelu", "gelu_new", "silu", "gated-relu", "gated-gelu", "gated-silu"}));
    visit(Field{
        "scale_decoder_outputs", &C::scale_decoder_outputs,
        "what the decoder gives is divided by the square root of d_model before the product with the vocabulary"});
    visit(Field{"initializer_factor", &C::initializer_factor, "kept for transformers, whose first weights it scales"}
              .range(0.0, 100.0));
  }
};

/// LongT5 has all of those, and how its encoder attends.
struct LongT5Fields : T5Fields {
  std::int64_t local_radius = 127;
  std::int64_t global_block_size = 16;
  std::string encoder_attention_type = "local";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = LongT5Fields;
    T5Fields::fields(visit);
    visit(Field{"local_radius", &C::local_radius, "tokens that the encoder's attention sees on each side"}.range(
        1, 1 << 20));
    visit(Field{"global_block_size", &C::global_block_size, "tokens that transient-global attention sums up in a row"}
              .range(1, 1 << 20));
    visit(Field{"encoder_attention_type", &C::encoder_attention_type, "local, or transient-global"}.one_of(
        {"local", "transient-global"}));
  }
};

/// Those of a config of one of these families.
inline const T5Fields& t5_fields(const EncoderDecoderConfig& config) {
  return config.own.is<LongT5Fields>() ? config.own.get<LongT5Fields>() : config.own.get<T5Fields>();
}

}  // namespace weft::models
