// SPDX-License-Identifier: Apache-2.0
// A pattern as a picture: a grid of cells over queries (down) and keys (across). A cell stands for one token pair or,
// for long sequences, for a square of them. The renderers are terminal.h (text) and canvas.h (SVG, PNG).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/pattern/edge_kind.h"
#include "weft/pattern/pattern.h"

namespace weft::inspect {

/// Token positions [begin, end).
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const noexcept { return end - begin; }
};

struct PictureRequest {
  pattern::Site site;                     ///< `site.head` is not read
  std::optional<std::int64_t> head = {};  ///< one head; all of them when absent
  std::optional<TokenRange> zoom = {};    ///< of queries and of keys; everything when absent
  std::int64_t maximum_cells = 128;       ///< a side
};

/// What a pattern costs in blocks of 64 x 64 tokens, over the heads that are shown.
struct PictureFigures {
  std::int64_t edges = 0;
  double density = 0;  ///< edges over heads * query_length * key_length
  std::int64_t full_blocks = 0;
  std::int64_t partial_blocks = 0;   ///< with a mask or weights
  std::int64_t possible_blocks = 0;  ///< heads * query blocks * key blocks
  double edges_per_slot = 0;         ///< edges over the scores that a kernel computes for them
  double edges_error = 0;            ///< half the width of the 95% interval of `edges`; 0 where all were counted
  std::int64_t sampled = 0;  ///< rows of 64 queries that the figures are estimated from; 0 where all were counted
};

struct PictureCell {
  pattern::EdgeKind kind = pattern::EdgeKind::kNone;  ///< of most of its edges
  double coverage = 0;                                ///< the share of its token pairs that are edges, 0 to 1
};

/// The heads that share one structure.
struct PicturePanel {
  std::vector<std::int64_t> heads;
  std::vector<PictureCell> cells;  ///< [rows][columns]
};

struct Picture {
  std::string expression;  ///< canonical
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t query_offset = 0;
  std::int64_t heads = 1;  ///< of the site
  TokenRange queries;      ///< what the cells cover
  TokenRange keys;
  std::int64_t cell = 1;  ///< tokens along a side of a cell: 1, 2, 4, ..., 64 or a multiple of 64
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  PictureFigures figures;
  std::vector<PicturePanel> panels;
};

/// Counts the edges of every cell where the pattern's layout is small; else asks the pattern about each cell and
/// estimates the figures from a sample of rows, so that a long sequence costs no more than its cells. Errors: those of
/// Pattern::check and survey_layout; kArgument for a head or a zoom outside of the site, or more than 2^21 cells.
Picture make_picture(const pattern::Pattern& pattern, const PictureRequest& request);

/// "heads 0-3, 6", or an empty string where the picture has one head.
std::string panel_label(const Picture& picture, const PicturePanel& panel);

/// "33,024 edges of 1,048,576 (3.15%)  |  blocks of 64: 16 full + 46 partial of 256  |  52.3% of computed scores are
/// edges" in parts, so that a renderer may break lines between them; and a part that says so where they are estimates.
std::vector<std::string> figure_lines(const Picture& picture);

/// "1,234,567", or "about 1,235,000" for an estimate.
std::string estimated_digits(double value, bool is_estimate);

/// "33,024", or "about 33,020 +- 0.8%" for an estimate, of which `error` is half the width of the 95% interval.
std::string edges_text(double edges, double error, bool is_estimate);

/// The kinds that occur in any panel, in the order of the enumeration.
std::vector<pattern::EdgeKind> kinds_of(const Picture& picture);

}  // namespace weft::inspect
