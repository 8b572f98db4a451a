// SPDX-License-Identifier: Apache-2.0
// `weft score bleu --baseline`: whether two systems differ, by resamples of the same sentences.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/metrics/translation/bleu.h"

namespace weft::cli {

/// What is compared, beside BLEU's own fields.
struct BaselineConfig {
  std::string baseline;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"baseline", &BaselineConfig::baseline,
                "file of another system's texts: how much better the hypotheses are, and how likely such a "
                "difference is by chance (paired bootstrap)"});
  }
};

/// {"baseline_score", "difference", "p_value"} of the test that sacrebleu calls --paired-bs, with `samples` resamples.
/// Errors: kArgument for scorers of different numbers of sentences.
formats::Json paired_figures(const metrics::BleuScorer& system, const metrics::BleuScorer& baseline,
                             std::int64_t samples);

}  // namespace weft::cli
