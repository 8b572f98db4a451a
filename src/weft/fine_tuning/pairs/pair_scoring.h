// SPDX-License-Identifier: Apache-2.0
// Held-out pairs through a model once, shared out among the processes that train together: how likely the targets are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/formats/config_json.h"

namespace weft::fine_tuning {

/// How pairs are run.
struct PairScoringOptions {
  std::int64_t batch_tokens = 4096;  ///< pairs of a batch times the longest text among them; one pair always fits
  std::string dtype = "float32";     ///< of products
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in batches; may throw to stop
};

/// What came of it, the same in every process.
struct PairScores {
  double nats = 0.0;        ///< of all target tokens, without label smoothing
  std::int64_t labels = 0;  ///< target tokens, ends included
};

/// The model is in evaluation mode. Errors: kNumeric for a loss that is not finite.
PairScores score_pairs(models::EncoderDecoder model, const PairRows& rows, const PairScoringOptions& options);

/// For each of the first `count` rows the logarithm of the probability of its target, its end included: what a model
/// thinks of a text that another one wrote (forced decoding). The model is in evaluation mode. Errors: kNumeric for one
/// that is not finite.
std::vector<double> target_log_probabilities(models::EncoderDecoder model, const PairRows& rows, std::int64_t count,
                                             const PairScoringOptions& options);

/// One flat object: loss (nats a target token), perplexity; loss 0 and perplexity 1 where nothing was scored.
formats::Json pair_figures(const PairScores& scores);

}  // namespace weft::fine_tuning
