// SPDX-License-Identifier: Apache-2.0
// Strided edges in blocks that are full. In the order of the text nearly every block of 64 x 64 holds edges of
// stride(l), and each holds few. With the rows in columns, place(i) = (i mod l) n + i div l, the same edges are whole
// blocks along the diagonal (Child et al. 2019, section 5.5, transpose likewise).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/pattern/pattern.h"

namespace weft::pattern {

/// The edges of stride(l) over places: column c holds the rows c, c + l, c + 2 l, ... The last place of a column is
/// spare where the text has ended.
struct StrideColumns {
  std::int64_t stride = 2;  ///< l
  std::int64_t rows = 1;    ///< n of a column
  bool is_causal = false;   ///< no row sees one behind it, so that nobody who is read sees a spare place
  Pattern pattern;          ///< of all heads, over places; heads without this stride have no edges

  std::int64_t places() const noexcept { return stride * rows; }
};

/// A pattern over a whole text as graphs in several orders of its rows: each edge is in exactly one of them.
struct StridesInColumns {
  std::vector<StrideColumns> columns;  ///< one for each stride, at least one
  std::optional<Pattern> rest;         ///< in the order of the text; nothing where no head has other edges
  double blocks = 0;                   ///< of 64 x 64, all heads, about: a sample of rows of blocks is counted
  double blocks_in_text = 0;           ///< the same for the whole pattern in the order of the text
};

/// What `pattern` is at `site` with its strides in columns, where that takes fewer blocks and pays for its copies of
/// rows. Nothing for short texts, for calls that are not a whole text (decoding), for patterns that name `input` or
/// count keys, and where a stride is not a term of a union, under `causal` or not. Errors: as Pattern::check.
std::optional<StridesInColumns> strides_in_columns(const Pattern& pattern, const Site& site);

}  // namespace weft::pattern
