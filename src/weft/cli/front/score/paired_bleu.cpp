// SPDX-License-Identifier: Apache-2.0
// Both systems are drawn by the same seed, and so on the same sentences.
#include "weft/cli/front/score/paired_bleu.h"

#include <cmath>
#include <vector>

#include "weft/core/error.h"
#include "weft/metrics/translation/bootstrap.h"

namespace weft::cli {

formats::Json paired_figures(const metrics::BleuScorer& system, const metrics::BleuScorer& baseline,
                             std::int64_t samples) {
  require(system.sentences() == baseline.sentences(), "the hypotheses have ", system.sentences(),
          " texts, and the baseline has ", baseline.sentences());
  const double before = baseline.score().score;
  const double difference = system.score().score - before;
  const std::vector<double> first = system.resampled(samples);
  const std::vector<double> second = baseline.resampled(samples);
  return {{"baseline_score", before},
          {"difference", difference},
          {"p_value", metrics::paired_p_value(first, second, std::abs(difference))}};
}

}  // namespace weft::cli
