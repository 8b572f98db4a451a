// SPDX-License-Identifier: Apache-2.0
// Labels for texts, or for pairs of texts.
#include "weft/tasks/classify.h"

#include "task_call.h"
#include "weft/requests/encoder_parameters.h"

namespace weft::python {

Results classify(Opened& model, const TaskCall& call) {
  requests::ClassifyParameters config{.top_k = 1};
  require(!call.given.contains("truncation"), call.task, ": truncation is called truncate");
  const tasks::RunOptions run = read_run(call, Windows::kNone, config);
  tasks::TaskModel task = model.encoder(models::Head::kSequenceClassification);
  return tasks::classify(task, call.documents,
                         {.top_k = config.top_k, .function = config.function_to_apply, .run = run});
}

}  // namespace weft::python
