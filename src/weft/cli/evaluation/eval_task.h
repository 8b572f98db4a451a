// SPDX-License-Identifier: Apache-2.0
// The part of `weft eval` that measures a task's model on labelled data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/formats/config_json.h"

namespace weft::cli {

/// What `weft eval --task T` was given.
struct EvalTaskOptions {
  std::string run;
  std::string task;
  std::vector<std::string> data;
  std::string predictions;  ///< file to write, or none
  std::string dtype = "auto";
  formats::Json examples = formats::Json::object();  ///< fields of DataSettings
  bool json = false;
};

/// Prints the figures of `model`, that of the directory; with --json also those of each label, and what was read.
void eval_task(const EvalTaskOptions& options, const checkpoint::ModelOnDemand& model);

}  // namespace weft::cli
