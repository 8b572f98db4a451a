// SPDX-License-Identifier: Apache-2.0
// The part of `weft eval` that measures an encoder-decoder on pairs of texts.
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "weft/checkpoint/open_model.h"
#include "weft/runs/evaluate/pairs.h"

namespace weft::cli {

/// What `weft eval --task translate|summarize` was given.
struct EvalPairsOptions {
  runs::PairsAsked asked;
  std::string predictions;  ///< file to write, or none
  bool json = false;
};

/// Adds --source, --target, and the fields of PairConfig that no other flag of `weft eval` has.
void add_pair_flags_of_eval(CLI::App& app, EvalPairsOptions& options);

/// Prints loss, perplexity and the metrics of what `model`, that of the directory, writes. Fields that are not given
/// are those of the run's training.json. Errors: UsageError without pairs; those of fine_tuning::measure_pairs().
void eval_pairs(const EvalPairsOptions& options, const checkpoint::ModelOnDemand& model);

}  // namespace weft::cli
