// SPDX-License-Identifier: Apache-2.0
// Summaries: the model reads a text whole and writes a shorter one.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tasks/documents.h"
#include "weft/tasks/sequences/writer.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

/// Called with stretches of a summary as soon as they are certain, and with the rest: all of a document joined are its
/// first summary. Those of several documents come as they are written. False ends the work.
using OnSummarized = std::function<bool(std::size_t document, std::string_view text)>;

struct SummarizeOptions {
  bool truncate = false;  ///< cut what is too long for the model, and say so
  BatchLimits batch = {};
  OnSummarized on_summarized = {};
};

/// For each document `[{"summary_text"}]`, one element for each text that the model's settings ask for. Metadata:
/// {"tokens", "truncated" (tokens left out), "incomplete"} and what was computed. Errors: kArgument naming the document
/// with its tokens and the longest length, where it is too long and nothing may be cut; those of the tokeniser and the
/// search; kInterrupted where `on_summarized` ends the work.
std::vector<TaskResult> summarize(const SequenceModel& model, std::span<const Document> documents,
                                  const SummarizeOptions& options);

}  // namespace weft::tasks
