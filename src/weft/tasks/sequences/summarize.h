// SPDX-License-Identifier: Apache-2.0
// Summaries: the model reads a text whole and writes a shorter one.
#pragma once

#include <span>
#include <vector>

#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/writer.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct SummarizeOptions {
  bool truncate = false;  ///< cut what is too long for the model, and say so
  BatchLimits batch = {};
};

/// For each document `[{"summary_text"}]`, one element for each text that the model's settings ask for. Metadata:
/// {"tokens", "truncated" (tokens left out), "incomplete"} and what was computed. Errors: kArgument naming the document
/// with its tokens and the longest length, where it is too long and nothing may be cut; those of the tokeniser and the
/// search.
std::vector<TaskResult> summarize(const SequenceModel& model, std::span<const Document> documents,
                                  const SummarizeOptions& options);

}  // namespace weft::tasks
