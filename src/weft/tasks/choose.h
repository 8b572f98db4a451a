// SPDX-License-Identifier: Apache-2.0
// Which of several texts goes with a prompt: multiple choice, as `transformers` lays it out.
#pragma once

#include <string>
#include <vector>

#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct Question {
  std::string prompt;
  std::vector<std::string> choices;
  std::string name = "the question";  ///< for messages
};

/// [{"index", "choice", "score"}], best first; scores are a softmax over the choices. Each choice is the second text
/// behind the prompt. `task` has a multiple-choice head. Errors: kArgument for less than two choices, and one that is
/// too long together with the prompt; kNumeric.
TaskResult choose(TaskModel& task, const Question& question, const RunOptions& options = {});

}  // namespace weft::tasks
