// SPDX-License-Identifier: Apache-2.0
// Labels for whole texts: the text-classification pipeline of `transformers`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct ClassifyOptions {
  std::int64_t top_k = 1;            ///< labels wanted, best first; 0: all
  std::string function = "default";  ///< softmax, sigmoid, none; default: as score_function() has it
  RunOptions run = {};
};

/// For each document [{"label", "score"}], best first. `task` has a sequence-classification head. Errors: kArgument for
/// a document that is too long; kNumeric; kInterrupted.
std::vector<TaskResult> classify(TaskModel& task, std::span<const Document> documents,
                                 const ClassifyOptions& options = {});

}  // namespace weft::tasks
