// SPDX-License-Identifier: Apache-2.0
// Windows of tokens as what a model is called with.
#pragma once

#include <span>

#include "weft/models/encoder_model.h"
#include "weft/tasks/task_model.h"

namespace weft::tasks {

/// The windows as rows padded to the longest, int64 [windows, tokens]: ids, mask, token types where the model is given
/// them, and where the texts of pairs stand.
models::EncoderInput rows_of_windows(const TaskModel& task, std::span<const text::Encoding* const> windows);

/// The same where hidden states are wanted, whatever the head: to a model of choices each window is a question of its
/// own with one choice.
models::EncoderInput windows_alone(const TaskModel& task, std::span<const text::Encoding* const> windows);

}  // namespace weft::tasks
