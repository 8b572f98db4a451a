// SPDX-License-Identifier: Apache-2.0
// Labels for the tokens of a text and entities made of them: the token-classification pipeline of `transformers`, on
// texts of any length. What tells replaced tokens from others (ELECTRA) is a tagger of two labels here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/tasks/decode/entities.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct TagOptions {
  Aggregation aggregation = Aggregation::kNone;
  std::vector<std::string> ignore_labels = {"O"};
  RunOptions run = {};
};

/// The head by which `directory` tags: kReplacedTokens where the model has it, whose labels are "original" and
/// "replaced", else kTokenClassification, which may not be there. Errors: those of OpenedModel::head().
models::Head tagging_head(const checkpoint::OpenedModel& directory);

/// For each document [{"entity_group" ("entity", "index" without aggregation), "score", "word", "start", "end",
/// "byte_start", "byte_end"}] in the order of the text. A text beyond the model's length is tagged in windows: with
/// aggregation each by itself, and of entities that overlap the longest stays, as with the pipeline's stride; without,
/// each token counts in the window where it has more around it. Errors: kArgument, kNumeric, kInterrupted.
std::vector<TaskResult> tag(TaskModel& task, std::span<const Document> documents, const TagOptions& options = {});

}  // namespace weft::tasks
