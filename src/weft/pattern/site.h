// SPDX-License-Identifier: Apache-2.0
// What a pattern is evaluated at. A pattern is a value without lengths; a Site brings the lengths, the head, the layer
// and the positions that `input` stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::pattern {

/// Query i of a call has position i + query_offset; keys start at position 0. All lengths count tokens.
struct Site {
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t query_offset = 0;
  std::int64_t head = 0;
  std::int64_t heads = 1;
  std::int64_t layer = 0;
  std::int64_t maximum_length = 0;           ///< the model's maximum length; 0 when it has none
  std::span<const std::int64_t> input = {};  ///< ascending positions bound to `input` for this batch row
};

/// What differs between the rows of a batch. A row may be shorter than the padded site: its pattern is laid out over
/// its own lengths, and its padding has no edges.
struct RowBinding {
  std::vector<std::int64_t> input;           ///< positions for `input`, any order, duplicates allowed
  std::optional<std::int64_t> query_length;  ///< the site's when absent
  std::optional<std::int64_t> key_length;    ///< the site's when absent
};

}  // namespace weft::pattern
