// SPDX-License-Identifier: Apache-2.0
// The fields that EuroBERT has beyond those of every encoder.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"

namespace weft::models {

struct EurobertFields {
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  double rope_theta = 250000.0;
  bool attention_bias = false;
  bool mlp_bias = false;
  std::int64_t mask_token_id = 128002;
  std::string classifier_pooling = "late";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EurobertFields;
    visit(Field{"num_key_value_heads", &C::num_key_value_heads,
                "heads of keys and values, which several heads share; 0 for one each"}
              .range(0, 4096));
    visit(Field{"head_dim", &C::head_dim, "columns of a head; 0 for hidden_size / num_attention_heads"}.range(0, 4096));
    visit(Field{"rope_theta", &C::rope_theta, "base of the rotary positions"}.range(1.0, 1e12));
    visit(Field{"attention_bias", &C::attention_bias, "projections of attention have a bias"});
    visit(Field{"mlp_bias", &C::mlp_bias, "feed-forwards and scores of the vocabulary have a bias"});
    visit(Field{"mask_token_id", &C::mask_token_id, "id of the token in place of a word to guess; -1 for none"}.range(
        -1, 1 << 24));
    visit(
        Field{"classifier_pooling", &C::classifier_pooling,
              "a text's labels are scored from its first token (bos), from the mean of all (mean), or token by token, "
              "and are the mean of these scores (late)"}
            .one_of({"late", "mean", "bos"}));
  }
};

}  // namespace weft::models
