// SPDX-License-Identifier: Apache-2.0
// What stands where a text has the mask: the fill-mask pipeline of `transformers`. Scores over the vocabulary exist at
// the masks only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct FillMaskOptions {
  std::int64_t top_k = 5;
  std::vector<std::string> targets = {};  ///< tokens to choose from; empty: the whole vocabulary
  RunOptions run = {};
};

/// For each document [{"score", "token", "token_str", "sequence"}], best first; a list of such lists when it has
/// several masks, in their order. `task` has a masked-LM head. A text beyond the model's length is read in windows:
/// each mask is answered in the window where it has the most around it, and `sequence` is the text of that window.
/// Errors: kArgument for a document without a mask (naming it and the mask token), for one whose masks were all cut
/// off, and where no target has a token; kNumeric; kInterrupted.
std::vector<TaskResult> fill_masks(TaskModel& task, std::span<const Document> documents,
                                   const FillMaskOptions& options = {});

}  // namespace weft::tasks
