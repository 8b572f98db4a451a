// SPDX-License-Identifier: Apache-2.0
// Precision or recall may have nothing to be a share of.
#include "weft/cli/front/score/alignment_figures.h"

#include <iostream>
#include <optional>
#include <string>

#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

void print_alignment_figures(const metrics::AlignmentScorer& scorer, bool json) {
  const std::optional<double> rate = scorer.error_rate();
  require(rate.has_value(), "an error rate needs at least one link, found none in ", scorer.sentences(), " sentences");
  if (json) {
    print_json({{"name", "AER"},
                {"score", *rate},
                {"precision", formats::or_null(scorer.precision())},
                {"recall", formats::or_null(scorer.recall())},
                {"sentences", scorer.sentences()}});
    return;
  }
  const auto text = [](const std::optional<double>& value) { return value ? percent(*value) : std::string("none"); };
  std::cout << name_table(
      {{"AER", text(rate)}, {"precision", text(scorer.precision())}, {"recall", text(scorer.recall())}});
}

}  // namespace weft::cli
