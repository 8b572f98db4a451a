// SPDX-License-Identifier: Apache-2.0
// Which primitive granted an edge: for drawings that show window, global, random, ... in colours of their own.
#pragma once

#include <cstdint>

#include "weft/pattern/site.h"

namespace weft::pattern {

class Pattern;

/// In the order in which kinds win where several terms grant the same edge.
enum class EdgeKind : std::uint8_t {
  kGlobal,
  kWindow,
  kRandom,
  kSegment,
  kSummary,
  kStride,
  kOther,  ///< graphs from files, complements
  kFull,   ///< full and causal
  kNone,   ///< no edge
};

inline constexpr int kEdgeKinds = 9;

/// "global", "window", ...
const char* edge_kind_name(EdgeKind kind) noexcept;

/// The kind of the edge query -> key, kNone where there is none; arguments as Pattern::multiplicity.
EdgeKind edge_kind(const Pattern& pattern, const Site& site, std::int64_t query, std::int64_t key);

}  // namespace weft::pattern
