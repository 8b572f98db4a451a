// SPDX-License-Identifier: Apache-2.0
// What all tasks share: how texts that are too long and batches are handled, and a result with what was computed for
// it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/encoder_runner.h"

namespace weft::tasks {

struct RunOptions {
  bool truncate = false;     ///< cut what is too long for the model, and say so
  std::int64_t stride = -1;  ///< of windows, where a task makes them; -1: default_stride()
  BatchLimits batch = {};
};

/// A model opened for a task, and how to run it.
struct OpenTask {
  TaskModel model;
  RunOptions run;
};

/// `result` has the shape that huggingface_hub gives the task. `metadata` says what was computed: {"tokens", "windows",
/// "truncated" (tokens left out), "dtype"} and EncoderModelImpl::computed().
struct TaskResult {
  formats::Json result;
  formats::Json metadata;
};

/// Documents tokenised, each window knowing its document.
class EncodedBatch {
 public:
  /// Where a window belongs: number `window` of document `document`.
  struct Place {
    std::size_t document = 0;
    std::size_t window = 0;
  };
  using Consume = std::function<void(const Place& place, const WindowOutput& output)>;
  using Wanted = std::function<bool(const Place& place)>;

  EncodedBatch(const TaskModel& task, std::span<const Document> documents, const LengthRule& rule);

  const EncodedDocument& operator[](std::size_t document) const { return encoded_[document]; }
  const text::Encoding& encoding(const Place& place) const { return encoded_[place.document].windows[place.window]; }
  /// Runs every window, or those that are `wanted`; `hidden` for the last hidden states in place of the head's output.
  /// Keeps what was computed. Errors: those of `consume` about numbers, with the names of the document and the model.
  void run(TaskModel& task, const BatchLimits& limits, bool hidden, const Consume& consume, const Wanted& wanted = {});
  /// The metadata of a document; complete once run() is done.
  formats::Json metadata(std::size_t document) const;

 private:
  void consume_window(const TaskModel& task, const Place& place, const WindowOutput& output, const Consume& consume);

  std::vector<EncodedDocument> encoded_;
  std::vector<std::string> names_;
  std::string dtype_;
  std::vector<Computed> computed_;  // by document; windows of one are of one length but the last
};

/// The rule for a task that cannot go over a text in windows: an error or, when asked for, truncation.
LengthRule whole_texts(const TaskModel& task, const RunOptions& options);
/// The rule for a task that can.
LengthRule windowed_texts(const TaskModel& task, const RunOptions& options, text::Truncation side);

/// A kNumeric error about the model's output, with the names of the document and the model that it came from.
Error named_numeric_error(const TaskModel& task, const std::string& document, const Error& error);

/// A tensor's numbers; valid as long as it lives. It must be float32 and contiguous.
std::span<const float> numbers(const at::Tensor& tensor);

}  // namespace weft::tasks
