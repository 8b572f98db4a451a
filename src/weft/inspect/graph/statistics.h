// SPDX-License-Identifier: Apache-2.0
// What a pattern connects, as figures: the measures of the graph that the theory of sparse attention speaks of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/inspect/graph/paths.h"
#include "weft/inspect/graph/sample.h"
#include "weft/inspect/graph/word_rows.h"
#include "weft/pattern/pattern.h"

namespace weft::inspect {

struct GraphRequest {
  pattern::Site site;                     ///< as many queries as keys, no offset; `site.head` is not read
  std::optional<std::int64_t> head = {};  ///< one head; all united when absent
  std::int64_t layers = 0;                ///< of the stack whose reach is asked for, numbered from 0
  std::int64_t exact_length = 4096;       ///< up to here every position is measured, beyond a sample
  std::int64_t samples = 256;             ///< positions of a sample; fewer where the graph is large
};

struct GraphStatistics {
  std::int64_t positions = 0;
  pattern::LayoutStatistics
      layout;  ///< edges (self-loops included), density and blocks of 64 x 64, over the heads shown
  std::int64_t possible_blocks = 0;
  double edges_error = 0;         ///< half the width of the 95% interval of `layout.edges`; 0 where all were counted
  std::int64_t sampled_rows = 0;  ///< rows of 64 queries that `layout` is estimated from; 0 where all were counted
  bool is_measured = true;        ///< false where the graph is too large: then nothing below is known
  double words = 0;               ///< words of 64 pairs with an edge, about: the size of the graph
  std::int64_t isolated = 0;      ///< positions without an edge to or from another
  std::int64_t unseen = 0;        ///< positions that no other has an edge to
  std::int64_t sampled = 0;       ///< positions that were measured; 0 where all were
  PathLengths paths;              ///< of the directed graph, without self-loops
  Estimate clustering;            ///< of the symmetrised graph, as is the next
  std::optional<Estimate> second_eigenvalue;  ///< see second_eigenvalue()
  bool contains_star = false;                 ///< see below
  std::vector<Estimate> reach;                ///< [layers]: positions that one position has heard of after the layer
};

/// Larger graphs are not measured.
inline constexpr std::int64_t kMeasuredWords = kMaximumWords / 2;

/// Measures the graph of a pattern. Where it has more than kMeasuredWords words, or takes too long to draw, only
/// `layout` is filled in, from a sample of rows (survey.h). `contains_star` says whether some position attends to all
/// and all attend to it, which is the condition of BigBird's proof that sparse attention is a universal approximator
/// and Turing complete (Zaheer et al. 2020, section 3). Errors: those of Pattern::check and survey_layout; kArgument
/// for a head that the site does not have, or lengths that differ.
GraphStatistics graph_statistics(const pattern::Pattern& pattern, const GraphRequest& request);

/// The graph of one head, or of all united, at `site`.
WordRows pattern_graph(const pattern::Pattern& pattern, const pattern::Site& site,
                       std::optional<std::int64_t> head = {});

/// The second largest eigenvalue of D^-1/2 A D^-1/2 of a symmetric graph without loops (the largest is 1); 1 where the
/// graph is not connected, a position without neighbours being a part of its own; nothing for fewer than two positions.
/// The spectral gap is 1 minus it: large for random graphs, small for rings (Chung 1997). On large graphs whose
/// eigenvalues crowd, such as long rings, `error` bounds the distance to an eigenvalue, from 1e-3 down to 1e-7;
/// 0 stands for 1e-10 and better. Nothing where not even that was reached.
std::optional<Estimate> second_eigenvalue(const WordRows& rows);

}  // namespace weft::inspect
