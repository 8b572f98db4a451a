// SPDX-License-Identifier: Apache-2.0
// The part of `weft eval` that measures an encoder-decoder on pairs of texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// What `weft eval --task translate|summarize` was given.
struct EvalPairsOptions {
  std::string run;
  std::string task;
  std::vector<std::string> source;
  std::vector<std::string> target;
  std::vector<std::string> data;
  std::string predictions;  ///< file to write, or none
  std::vector<std::string> attention;
  std::string dtype = "auto";
  formats::Json given = formats::Json::object();  ///< fields of PairConfig
  bool json = false;
};

/// Adds --source, --target, and the fields of PairConfig that no other flag of `weft eval` has.
void add_pair_flags_of_eval(CLI::App& app, EvalPairsOptions& options);

/// Prints loss, perplexity and the metrics of what `model`, that of the directory, writes. Fields that are not given
/// are those of the run's training.json. Errors: UsageError without pairs; those of fine_tuning::measure_pairs().
void eval_pairs(const EvalPairsOptions& options, const checkpoint::ModelOnDemand& model);

}  // namespace weft::cli
