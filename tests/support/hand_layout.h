// SPDX-License-Identifier: Apache-2.0
// A block layout made the slow way from a function of positions, so that tests of kernels depend on no compiler of
// patterns.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "weft/pattern/layout.h"

namespace weft::test {

/// Multiplicity of query -> key for a head: 0 no edge, 1 an edge, more a weight.
using Multiplicity = std::function<int(std::int64_t head, std::int64_t query, std::int64_t key)>;

class HandLayout {
 public:
  HandLayout(const pattern::Tile& tile, std::int64_t query_length, std::int64_t key_length, std::int64_t heads,
             const Multiplicity& multiplicity)
      : multiplicity_(multiplicity) {
    layout_.tile = tile;
    layout_.query_length = query_length;
    layout_.key_length = key_length;
    layout_.heads = heads;
    layout_.groups = heads;
    layout_.row_begin.push_back(0);
    for (std::int64_t head = 0; head < heads; ++head) {
      layout_.group.push_back(static_cast<std::int32_t>(head));
      add_head(head);
    }
  }

  pattern::BlockLayout take() { return std::move(layout_); }

 private:
  void add_head(std::int64_t head) {
    layout_.group_edges.push_back(0);
    for (std::int64_t row = 0; row < layout_.query_blocks(); ++row) {
      for (std::int64_t column = 0; column < layout_.key_blocks(); ++column) {
        add_block(head, row * layout_.tile.query, column * layout_.tile.key);
      }
      layout_.row_begin.push_back(layout_.blocks());
    }
  }

  void add_block(std::int64_t head, std::int64_t first_query, std::int64_t first_key) {
    const std::int64_t queries = std::min<std::int64_t>(layout_.tile.query, layout_.query_length - first_query);
    const std::int64_t keys = std::min<std::int64_t>(layout_.tile.key, layout_.key_length - first_key);
    const std::int64_t words = (layout_.tile.key + 63) / 64;
    std::vector<std::uint64_t> bits(static_cast<std::size_t>(layout_.tile.query * words), 0);
    std::vector<float> weights(
        static_cast<std::size_t>(layout_.tile.query) * static_cast<std::size_t>(layout_.tile.key),
        -std::numeric_limits<float>::infinity());
    std::int64_t edges = 0;
    int largest = 0;
    for (std::int64_t query = 0; query < queries; ++query) {
      for (std::int64_t key = 0; key < keys; ++key) {
        const int times = multiplicity_(head, first_query + query, first_key + key);
        largest = std::max(largest, times);
        if (times > 0) {
          ++edges;
          bits[static_cast<std::size_t>(query * words + key / 64)] |= std::uint64_t{1} << (key % 64);
          weights[static_cast<std::size_t>(query * layout_.tile.key + key)] = std::log(static_cast<float>(times));
        }
      }
    }
    if (edges == 0) {
      return;
    }
    layout_.group_edges.back() += edges;
    layout_.key_block.push_back(static_cast<std::int32_t>(first_key / layout_.tile.key));
    push_kind(largest > 1, edges == queries * keys, bits, weights);
  }

  void push_kind(bool weighted, bool full, const std::vector<std::uint64_t>& bits, const std::vector<float>& weights) {
    if (weighted) {
      layout_.kind.push_back(
          pattern::weighted_kind(static_cast<std::int32_t>(layout_.log_weight.size() / weights.size())));
      layout_.log_weight.insert(layout_.log_weight.end(), weights.begin(), weights.end());
    } else if (full) {
      layout_.kind.push_back(pattern::kFullBlock);
    } else {
      layout_.kind.push_back(static_cast<std::int32_t>(layout_.mask_bits.size() / bits.size()));
      layout_.mask_bits.insert(layout_.mask_bits.end(), bits.begin(), bits.end());
    }
  }

  Multiplicity multiplicity_;
  pattern::BlockLayout layout_;
};

inline pattern::BlockLayout hand_layout(const pattern::Tile& tile, std::int64_t query_length, std::int64_t key_length,
                                        std::int64_t heads, const Multiplicity& multiplicity) {
  return HandLayout(tile, query_length, key_length, heads, multiplicity).take();
}

}  // namespace weft::test
