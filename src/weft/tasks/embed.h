// SPDX-License-Identifier: Apache-2.0
// A vector for each text: the last hidden states, pooled.
#pragma once

#include <span>
#include <vector>

#include "weft/tasks/decode/pooling.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct EmbedOptions {
  Pooling pooling = Pooling::kMean;
  bool normalize = false;
  RunOptions run = {};
};

/// For each document a list of hidden_size numbers; any head will do. Errors: kArgument for a document that is too
/// long; kNumeric; kInterrupted.
std::vector<TaskResult> embed(TaskModel& task, std::span<const Document> documents, const EmbedOptions& options = {});

}  // namespace weft::tasks
