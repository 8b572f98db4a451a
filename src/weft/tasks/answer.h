// SPDX-License-Identifier: Apache-2.0
// Answers to questions that stand in a document of any length, with their place in it (Devlin et al. 2019,
// section 4.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct AnswerTaskOptions {
  std::int64_t top_k = 1;
  std::int64_t max_answer_len = 15;       ///< in tokens
  bool handle_impossible_answer = false;  ///< "no answer" may win
  double null_threshold = 0;              ///< by how much its logit must then be larger than the best span's
  RunOptions run = {};
};

/// Errors: UnfitText, with `name`, for a question without a letter: any span would answer it.
void check_question(const std::string& question, const std::string& name);

/// For each pair of a question (`first`) and a document (`second`) {"answer", "score", "start", "end", "byte_start",
/// "byte_end", "logit"}, or a list of these when top_k is more than 1; "" stands for no answer. A document beyond the
/// model's length is read in windows that overlap, each with the whole question. The metadata has "no_answer":
/// {"score", "logit"}. Errors: as check_question(); kArgument for a document without tokens, and a question that leaves
/// no room; kNumeric; kInterrupted.
std::vector<TaskResult> answer(TaskModel& task, std::span<const Document> documents,
                               const AnswerTaskOptions& options = {});

}  // namespace weft::tasks
