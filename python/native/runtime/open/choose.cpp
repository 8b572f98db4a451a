// SPDX-License-Identifier: Apache-2.0
// Which of several texts goes with a prompt: each document is the prompt and one of the choices.
#include "weft/tasks/choose.h"

#include "task_call.h"

namespace weft::python {

Results choose(Opened& model, const TaskCall& call) {
  const tasks::RunOptions run = read_run(call, Windows::kNone);
  tasks::TaskModel task = model.encoder(models::Head::kMultipleChoice);
  tasks::Question question;
  question.choices.reserve(call.documents.size());
  for (const tasks::Document& pair : call.documents) {
    question.prompt = pair.first;
    question.choices.push_back(pair.second.value_or(""));
  }
  return {tasks::choose(task, question, run)};
}

}  // namespace weft::python
