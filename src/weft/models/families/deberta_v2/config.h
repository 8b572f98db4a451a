// SPDX-License-Identifier: Apache-2.0
// The fields that DeBERTa has beyond those of every encoder, in its second and third release.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"

namespace weft::models {

struct DebertaFields {
  bool relative_attention = true;
  std::int64_t position_buckets = 256;
  std::int64_t max_relative_positions = -1;
  std::vector<std::string> pos_att_type = {kPositionToContent, kContentToPosition};
  bool share_att_key = true;
  std::string norm_rel_ebd = kNorm;
  bool position_biased_input = false;
  std::int64_t embedding_size = 0;
  std::int64_t conv_kernel_size = 0;
  std::int64_t conv_groups = 1;
  std::string conv_act = "tanh";
  double pooler_dropout = 0.0;
  std::string pooler_hidden_act = "gelu";

  static constexpr const char* kContentToPosition = "c2p";
  static constexpr const char* kPositionToContent = "p2c";
  static constexpr const char* kNorm = "layer_norm";
  static constexpr const char* kNoNorm = "none";

  bool has_term(std::string_view term) const {
    return std::find(pos_att_type.begin(), pos_att_type.end(), term) != pos_att_type.end();
  }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = DebertaFields;
    visit(Field{"relative_attention", &C::relative_attention, "scores know distances"});
    visit(Field{"position_buckets", &C::position_buckets,
                "distances that are told apart on each side, far ones together; -1 for each by itself"}
              .range(-1, 1 << 20));
    visit(Field{"max_relative_positions", &C::max_relative_positions,
                "distance from which on all are one; -1 for max_position_embeddings"}
              .range(-1, 1 << 24));
    visit(
        Field{"pos_att_type", &C::pos_att_type,
              "what scores know of distances: c2p, what a query asks of a distance, and p2c, what a distance asks of a "
              "key"});
    visit(Field{"share_att_key", &C::share_att_key, "distances have the projections of queries and keys"});
    visit(Field{"norm_rel_ebd", &C::norm_rel_ebd, "norm of the table of distances"}.one_of({kNorm, kNoNorm}));
    visit(Field{"position_biased_input", &C::position_biased_input, "tokens have learned positions, too"});
    visit(Field{"embedding_size", &C::embedding_size,
                "width of the tables of tokens, types and positions; 0 for hidden_size"}
              .range(0, 1 << 18));
    visit(Field{"conv_kernel_size", &C::conv_kernel_size,
                "tokens of the convolution beside the first layer, an odd number; 0 for none"}
              .range(-1, 1 << 12));
    visit(
        Field{"conv_groups", &C::conv_groups, "groups of columns that this convolution keeps apart"}.range(1, 1 << 18));
    visit(Field{"conv_act", &C::conv_act, "activation behind that convolution"}.one_of(
        {"tanh", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish"}));
    visit(Field{"pooler_dropout", &C::pooler_dropout, "dropout in front of the pooler"}.range(0.0, 0.999));
    visit(Field{"pooler_hidden_act", &C::pooler_hidden_act, "activation behind the pooler"}.one_of(
        {"tanh", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish"}));
  }
};

}  // namespace weft::models
