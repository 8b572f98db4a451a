// SPDX-License-Identifier: Apache-2.0
// What a layout would hold, before it is built: counted where that takes about a second, else estimated from a sample
// of rows, with the error stated. Sequences of any length cost the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/pattern/pattern.h"

namespace weft::inspect {

/// About a second.
inline constexpr double kSurveyQuestions = 1 << 24;

struct LayoutSurvey {
  pattern::LayoutStatistics layout;  ///< of blocks of 64 x 64, over the heads asked for; estimates where sampled > 0
  std::int64_t possible_blocks = 0;  ///< heads * query blocks * key blocks
  double edges_error = 0;            ///< half the width of the 95% interval of `layout.edges`; 0 where it is exact
  std::int64_t sampled = 0;          ///< rows of 64 queries that were looked at; 0 where all were
  std::int64_t groups = 0;           ///< distinct patterns among the heads
  double blocks_stored = 0;          ///< of the layout that compile() would make, whose heads share groups
  double masks = 0;                  ///< partial blocks of it that may all differ: random graphs and files
  double words = 0;                  ///< of 64 pairs with an edge, over the groups
  double listed_keys = 0;            ///< draws and look-ups that compile() would make: see ListedKeys
};

/// Surveys the layout of one head, or of all. Errors: those of Pattern::check; kArgument for a head that the site does
/// not have, more than 2^62 pairs, or rows that list more keys than a sample of them can be looked at in seconds.
/// `questions` to the pattern are about what it takes; whoever surveys many layers gives each a part.
LayoutSurvey survey_layout(const pattern::Pattern& pattern, const pattern::Site& site,
                           std::optional<std::int64_t> head = {}, double questions = kSurveyQuestions);

/// Nodes of the pattern's tree for one head: what a question costs in comparison.
double question_cost(const pattern::Node& root);

/// The pattern as the head of `site` has it: two with one text have one graph.
std::string text_for_head(const pattern::Pattern& pattern, const pattern::Site& site);
/// The same of every head of the site, a line each: what tells the layouts of two layers apart.
std::string text_for_heads(const pattern::Pattern& pattern, pattern::Site site);

/// The heads of `site`, or one of them, that have equal patterns: a list for each distinct one, in the order met.
/// Errors: kArgument for a head that the site does not have.
std::vector<std::vector<std::int64_t>> equal_heads(const pattern::Pattern& pattern, pattern::Site site,
                                                   std::optional<std::int64_t> head);

}  // namespace weft::inspect
