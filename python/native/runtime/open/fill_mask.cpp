// SPDX-License-Identifier: Apache-2.0
// Tokens behind masks.
#include "weft/tasks/fill_mask.h"

#include "task_call.h"
#include "weft/requests/encoder_parameters.h"

namespace weft::python {

Results fill_mask(Opened& model, const TaskCall& call) {
  requests::FillMaskParameters config;
  const tasks::RunOptions run = read_run(call, Windows::kHas, config);
  tasks::TaskModel task = model.encoder(models::Head::kMaskedLanguageModel);
  return tasks::fill_masks(task, call.documents, {.top_k = config.top_k, .targets = config.targets, .run = run});
}

}  // namespace weft::python
