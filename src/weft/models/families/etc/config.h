// SPDX-License-Identifier: Apache-2.0
// The fields that ETC has beyond those of every encoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"

namespace weft::models {

struct EtcFields {
  std::int64_t global_vocab_size = 8;
  std::int64_t local_radius = 84;
  std::int64_t relative_pos_max_distance = 12;
  std::string hard_edges = "none";
  std::vector<std::int64_t> sentence_end_ids = {};
  std::vector<std::int64_t> paragraph_end_ids = {};
  std::int64_t max_global_tokens = 512;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EtcFields;
    visit(Field{"global_vocab_size", &C::global_vocab_size, "kinds of global tokens"}.range(7, 1 << 24));
    visit(
        Field{"local_radius", &C::local_radius, "tokens of the text that a token sees on each side"}.range(1, 1 << 16));
    visit(Field{"relative_pos_max_distance", &C::relative_pos_max_distance,
                "distances up to this one have labels of their own"}
              .range(1, 1024));
    visit(Field{"hard_edges", &C::hard_edges,
                "global tokens see their own sentence alone (g2l), tokens see their own global tokens alone (l2g), "
                "both or none"}
              .one_of({"none", "g2l", "l2g", "both"}));
    visit(Field{"sentence_end_ids", &C::sentence_end_ids,
                "token ids that end a sentence; each sentence has a global token"});
    visit(Field{"paragraph_end_ids", &C::paragraph_end_ids,
                "token ids that end a paragraph; each paragraph has a global token, where there are such ids"});
    visit(Field{"max_global_tokens", &C::max_global_tokens,
                "most global tokens of a text; sentences beyond belong to the last one"}
              .range(2, 1 << 16));
  }
};

}  // namespace weft::models
