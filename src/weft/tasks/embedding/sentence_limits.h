// SPDX-License-Identifier: Apache-2.0
// What a directory of sentence-transformers says about the texts of its model, embedder or cross-encoder: how long they
// may be, and whether they are lowercased first.
#pragma once

#include <cstdint>

#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/tasks/task_model.h"

namespace weft::tasks {

/// Gives `model` the directory's max_seq_length as its maximum, as far as the model takes that many tokens, unless
/// `max_length` (of TaskModelOptions) says otherwise; and where the directory lowercases texts a tokeniser that does.
/// Errors: those of the tokeniser; kFormat for a max_seq_length that leaves no room for a text.
void take_sentence_limits(TaskModel& model, const checkpoint::SentenceDirectory& sentence, std::int64_t max_length);

}  // namespace weft::tasks
