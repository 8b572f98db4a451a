// SPDX-License-Identifier: Apache-2.0
// Windows through a model in batches of like lengths, so that little is padded; each window's output is handed back
// without its padding. Results depend neither on the batch nor on the order in which windows are run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/encoder_model.h"
#include "weft/tasks/task_model.h"

namespace weft::tasks {

struct BatchLimits {
  std::int64_t rows = 8;        ///< of a batch
  std::int64_t tokens = 16384;  ///< of a batch with its padding; one row always fits
  std::int64_t pass = 32;  ///< what a pass costs beside its tokens, in tokens: its operators start, weights are read
};

/// BatchLimits::pass where texts are written: every token of the answers is a pass of its own.
inline constexpr std::int64_t kWritingPass = 2048;

/// The indices of `lengths` in the batches that cost least, padding and passes together: a long row and short ones are
/// no batch. Longest first; equal lengths keep their order. Errors: kArgument for limits below 1, or a pass below 0.
std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::int64_t> lengths,
                                                        const BatchLimits& limits);

/// EncoderModelImpl::computed() of one call.
using Computed = std::vector<std::pair<std::string, std::string>>;

/// One window's share of a batch: float32, contiguous, on the CPU, [tokens, ...] or [labels], without padding.
struct WindowOutput {
  at::Tensor hidden;        ///< [tokens, hidden]; only from run_hidden()
  at::Tensor logits;        ///< [tokens, labels] for tags, [labels] for classes
  at::Tensor start_logits;  ///< [tokens]
  at::Tensor end_logits;    ///< [tokens]
  const Computed* computed = nullptr;
};

/// One row of a batch's output, cut to the row's tokens where `head` gives one result a token.
WindowOutput row_of_output(const models::EncoderOutput& output, models::Head head, std::int64_t row,
                           std::int64_t tokens);

class EncoderRunner {
 public:
  using Windows = std::span<const text::Encoding* const>;
  /// Called once for every window, in the order of the batches.
  using Consume = std::function<void(std::size_t window, const WindowOutput& output)>;

  /// `task` must outlive the runner. A progress bar shows the tokens that are done.
  EncoderRunner(TaskModel& task, const BatchLimits& limits) : task_(task), limits_(limits) {}

  /// The outputs of the model's head. Errors: kInterrupted after Ctrl-C, between two batches.
  void run_head(Windows windows, const Consume& consume);
  /// The last hidden states, whatever the head.
  void run_hidden(Windows windows, const Consume& consume);
  /// Multiple choice: the logits [choices] of windows that are the choices of one question, padded to one length.
  at::Tensor run_choices(Windows choices, Computed& computed);

 private:
  void run(Windows windows, bool hidden, const Consume& consume);
  void run_batch(Windows windows, const std::vector<std::size_t>& batch, bool hidden, const Consume& consume);

  TaskModel& task_;
  BatchLimits limits_;
};

}  // namespace weft::tasks
