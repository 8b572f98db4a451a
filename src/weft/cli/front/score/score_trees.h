// SPDX-License-Identifier: Apache-2.0
// `weft score parse`: trees against true trees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/cli/front/score/score_texts.h"
#include "weft/core/fields.h"

namespace weft::cli {

struct ParseScoreConfig {
  std::vector<std::string> drop;
  std::int64_t longest = 40;
  bool linear = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ParseScoreConfig;
    visit(Field{"drop", &C::drop,
                "labels that do not count, beside those of COLLINS.prm (TOP, -NONE- and punctuation), as ROOT"});
    visit(Field{"longest", &C::longest, "words of the sentences that the second figures are about"}.range(1, 1 << 20));
    visit(Field{"linear", &C::linear,
                "the first file has trees as `weft data trees` writes them to learn from, (S (NP XX )NP )S: brackets "
                "that do not fit are mended, and words and tags are those of the true trees"});
  }
};

/// Prints the scores. Errors: UsageError for other than two files; those of visit_rows().
void score_parse(const ScoreFlags& flags);

}  // namespace weft::cli
