// SPDX-License-Identifier: Apache-2.0
// The longest first: if memory does not suffice, that shows at once.
#include "weft/tasks/encoder_runner.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <c10/core/InferenceMode.h>

#include "weft/attention/devices/brought_home.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/window_input.h"
#include "weft/training/precision.h"

namespace weft::tasks {

std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::int64_t> lengths,
                                                        const BatchLimits& limits) {
  require(limits.rows >= 1 && limits.tokens >= 1 && limits.pass >= 0,
          "a batch has at least 1 row and 1 token, and a pass costs 0 tokens or more, found ", limits.rows, ", ",
          limits.tokens, " and ", limits.pass);
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t left, std::size_t right) { return lengths[left] > lengths[right]; });
  // cost[i]: of the i longest rows in their best batches, of which the last has last[i] rows.
  std::vector<std::int64_t> cost(order.size() + 1, 0);
  std::vector<std::size_t> last(order.size() + 1, 0);
  for (std::size_t end = 1; end <= order.size(); ++end) {
    const auto most = std::min(end, static_cast<std::size_t>(limits.rows));
    for (std::size_t rows = 1; rows <= most; ++rows) {
      const std::int64_t tokens = static_cast<std::int64_t>(rows) * lengths[order[end - rows]];
      if (rows > 1 && tokens > limits.tokens) {
        break;  // one row more would be as long or longer
      }
      const std::int64_t sum = cost[end - rows] + limits.pass + tokens;
      if (last[end] == 0 || sum < cost[end]) {
        cost[end] = sum;
        last[end] = rows;
      }
    }
  }
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t end = order.size(); end > 0; end -= last[end]) {
    const auto behind = order.begin() + static_cast<std::ptrdiff_t>(end);
    batches.emplace_back(behind - static_cast<std::ptrdiff_t>(last[end]), behind);
  }
  std::ranges::reverse(batches);
  return batches;
}

namespace {

// A row's first `tokens` positions as float32 of its own; nothing stays nothing.
at::Tensor row_of(const at::Tensor& batch, std::int64_t row, std::int64_t tokens) {
  return batch.defined() ? attention::brought_home(batch.select(0, row).narrow(0, 0, tokens), at::kFloat)
                         : at::Tensor();
}

}  // namespace

WindowOutput row_of_output(const models::EncoderOutput& output, models::Head head, std::int64_t row,
                           std::int64_t tokens) {
  // Classes have no tokens; everything else is cut to the row's own.
  const bool by_token = models::is_about_tokens(head);
  WindowOutput own;
  own.hidden = row_of(output.last_hidden_state, row, tokens);
  own.logits = row_of(output.logits, row, by_token || !output.logits.defined() ? tokens : output.logits.size(1));
  own.start_logits = row_of(output.start_logits, row, tokens);
  own.end_logits = row_of(output.end_logits, row, tokens);
  return own;
}

void EncoderRunner::run_batch(Windows windows, const std::vector<std::size_t>& batch, bool hidden,
                              const Consume& consume) {
  std::vector<const text::Encoding*> rows;
  rows.reserve(batch.size());
  for (const std::size_t window : batch) {
    rows.push_back(windows[window]);
  }
  models::EncoderOutput output;
  if (hidden) {
    output.last_hidden_state = task_.model->hidden_states(windows_alone(task_, rows));
  } else {
    output = task_.model->forward(rows_of_windows(task_, rows));
  }
  const Computed computed = task_.model->computed();
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const auto tokens = static_cast<std::int64_t>(windows[batch[row]]->ids.size());
    WindowOutput own = row_of_output(output, task_.model->head(), static_cast<std::int64_t>(row), tokens);
    own.computed = &computed;
    consume(batch[row], own);
    end_piece();
  }
}

void EncoderRunner::run(Windows windows, bool hidden, const Consume& consume) {
  const c10::InferenceMode no_graph;
  const training::AutocastGuard autocast(task_.products);
  const InterruptGuard guard;
  std::vector<std::int64_t> lengths;
  lengths.reserve(windows.size());
  for (const text::Encoding* window : windows) {
    lengths.push_back(static_cast<std::int64_t>(window->ids.size()));
  }
  const auto total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  ProgressBar bar("tokens", static_cast<double>(total));
  std::int64_t done = 0;
  for (const std::vector<std::size_t>& batch : batches_by_length(lengths, limits_)) {
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", done, " of ", total, " tokens");
    }
    run_batch(windows, batch, hidden, consume);
    for (const std::size_t window : batch) {
      done += lengths[window];
    }
    bar.update(static_cast<double>(done));
  }
}

void EncoderRunner::run_head(Windows windows, const Consume& consume) { run(windows, false, consume); }
void EncoderRunner::run_hidden(Windows windows, const Consume& consume) { run(windows, true, consume); }

at::Tensor EncoderRunner::run_choices(Windows choices, Computed& computed) {
  const c10::InferenceMode no_graph;
  const training::AutocastGuard autocast(task_.products);
  models::EncoderInput input = rows_of_windows(task_, choices);
  for (at::Tensor* tensor : {&input.input_ids, &input.attention_mask, &input.token_type_ids, &input.pair_places}) {
    *tensor = tensor->defined() ? tensor->unsqueeze(0) : *tensor;
  }
  const at::Tensor logits = task_.model->forward(input).logits;
  computed = task_.model->computed();
  return attention::brought_home(logits.select(0, 0), at::kFloat);
}

}  // namespace weft::tasks
