// SPDX-License-Identifier: Apache-2.0
// Answers to questions: a document's first text is the question, its second the text that holds the answer.
#include "task_call.h"
#include "weft/tasks/parameters/answering.h"

namespace weft::python {

Results answer(Opened& model, const TaskCall& call) {
  tasks::AnswerConfig config;
  const tasks::RunOptions run = read_run(call, Windows::kHas, config);
  tasks::TaskModel task = model.encoder(models::Head::kQuestionAnswering);
  return tasks::answer(task, call.documents, tasks::answer_options(config, run));
}

}  // namespace weft::python
