// SPDX-License-Identifier: Apache-2.0
// Entities, or labels of tokens.
#include "weft/tasks/tag.h"

#include "task_call.h"
#include "weft/requests/encoder_parameters.h"

namespace weft::python {

Results tag(Opened& model, const TaskCall& call) {
  requests::TagParameters config{.aggregation_strategy = "none"};
  const tasks::RunOptions run = read_run(call, Windows::kHas, config);
  tasks::TaskModel task = model.encoder(tasks::tagging_head(model.directory()));
  return tasks::tag(task, call.documents,
                    {.aggregation = tasks::parse_aggregation(config.aggregation_strategy),
                     .ignore_labels = config.ignore_labels,
                     .run = run});
}

}  // namespace weft::python
