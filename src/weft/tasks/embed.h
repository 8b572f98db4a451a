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

/// For each document a list of hidden_size numbers; any head will do. A text beyond the model's length is read in
/// windows: the mean counts each token once, in the window where it has more around it; with kCls it is the mean of the
/// windows' first tokens. Errors: kArgument for a maximum that leaves no room for the stride; kNumeric; kInterrupted.
std::vector<TaskResult> embed(TaskModel& task, std::span<const Document> documents, const EmbedOptions& options = {});

}  // namespace weft::tasks
