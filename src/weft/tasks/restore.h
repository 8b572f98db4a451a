// SPDX-License-Identifier: Apache-2.0
// Case, punctuation and sentence ends for words that have none: transcripts of speech, text from scans, messages.
#pragma once

#include <span>
#include <vector>

#include "weft/tasks/decode/word_forms.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

/// Whether all labels of the model are word forms.
bool restores(const TaskModel& task);

/// For each document {"text", "sentences": [{"start", "end", "byte_start", "byte_end"}]}, places in the restored text.
/// The words (text::bare_words) get the case that the model gives them, whatever case they had. What lies between two
/// words stays, lines and quotes too; where it has a blank or ends the text, its marks give way to the model's, so that
/// 10:30 is still one time of day. A text beyond the model's length is read in windows, each word in the one that has
/// more around it. Errors: kArgument for a model whose labels are no word forms, kNumeric, kInterrupted.
std::vector<TaskResult> restore(TaskModel& task, std::span<const Document> documents, const RunOptions& run = {});

}  // namespace weft::tasks
