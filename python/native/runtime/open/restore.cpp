// SPDX-License-Identifier: Apache-2.0
// Case, punctuation and sentence ends for bare words.
#include "weft/tasks/restore.h"

#include "task_call.h"

namespace weft::python {

Results restore(Opened& model, const TaskCall& call) {
  const tasks::RunOptions run = read_run(call, Windows::kHas);
  tasks::TaskModel task = model.encoder(models::Head::kTokenClassification);
  return tasks::restore(task, call.documents, run);
}

}  // namespace weft::python
