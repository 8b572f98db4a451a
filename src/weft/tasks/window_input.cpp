// SPDX-License-Identifier: Apache-2.0
// One place for all that run windows through an encoder.
#include "weft/tasks/window_input.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "weft/text/pair_places.h"

namespace weft::tasks {
namespace {

void copy_row(const std::vector<std::int64_t>& values, const at::Tensor& rows, std::int64_t row) {
  std::copy(values.begin(), values.end(), rows.data_ptr<std::int64_t>() + row * rows.size(1));
}

}  // namespace

models::EncoderInput rows_of_windows(const TaskModel& task, std::span<const text::Encoding* const> windows) {
  std::size_t longest = 0;
  for (const text::Encoding* window : windows) {
    longest = std::max(longest, window->ids.size());
  }
  const auto rows = static_cast<std::int64_t>(windows.size());
  const auto length = static_cast<std::int64_t>(longest);
  models::EncoderInput input;
  input.input_ids = at::full({rows, length}, task.model->config().pad_token_id, at::kLong);
  input.attention_mask = at::zeros({rows, length}, at::kLong);
  input.pair_places = at::full({rows, 2}, -1, at::kLong);
  if (task.type_ids) {
    input.token_type_ids = at::zeros({rows, length}, at::kLong);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const text::Encoding& encoding = *windows[static_cast<std::size_t>(row)];
    const text::PairPlaces places = text::pair_places(encoding);
    copy_row(encoding.ids, input.input_ids, row);
    copy_row(std::vector<std::int64_t>(encoding.ids.size(), 1), input.attention_mask, row);
    copy_row({places.end, places.begin}, input.pair_places, row);
    if (task.type_ids) {
      copy_row(encoding.type_ids, input.token_type_ids, row);
    }
  }
  return input;
}

models::EncoderInput windows_alone(const TaskModel& task, std::span<const text::Encoding* const> windows) {
  models::EncoderInput input = rows_of_windows(task, windows);
  if (task.model->head() == models::Head::kMultipleChoice) {
    for (at::Tensor* tensor : {&input.input_ids, &input.attention_mask, &input.token_type_ids, &input.pair_places}) {
      *tensor = tensor->defined() ? tensor->unsqueeze(1) : *tensor;
    }
  }
  return input;
}

}  // namespace weft::tasks
