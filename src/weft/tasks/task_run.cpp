// SPDX-License-Identifier: Apache-2.0
// Texts to windows, windows through the model, and the account of both.
#include "weft/tasks/task_run.h"

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"

namespace weft::tasks {

EncodedBatch::EncodedBatch(const TaskModel& task, std::span<const Document> documents, const LengthRule& rule)
    : dtype_(product_type(task)), computed_(documents.size()) {
  encoded_.reserve(documents.size());
  names_.reserve(documents.size());
  for (const Document& document : documents) {
    encoded_.push_back(encode_document(*task.tokenizer, document, rule));
    require(!encoded_.back().windows.front().ids.empty(), document.name,
            ": the text is empty, and this tokeniser adds no special tokens, so the model has nothing to read");
    for (const text::Encoding& window : encoded_.back().windows) {
      take_note(task, window, document.name);
    }
    names_.push_back(document.name);
    end_piece();
  }
  task.unknown->warn("read so far");
}

void EncodedBatch::consume_window(const TaskModel& task, const Place& place, const WindowOutput& output,
                                  const Consume& consume) {
  if (computed_[place.document].empty()) {
    computed_[place.document] = *output.computed;
  }
  try {
    consume(place, output);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNumeric) {
      throw;
    }
    throw named_numeric_error(task, names_[place.document], error);
  }
}

void EncodedBatch::run(TaskModel& task, const BatchLimits& limits, bool hidden, const Consume& consume,
                       const Wanted& wanted) {
  std::vector<const text::Encoding*> windows;
  std::vector<Place> places;
  for (std::size_t document = 0; document < encoded_.size(); ++document) {
    for (std::size_t window = 0; window < encoded_[document].windows.size(); ++window) {
      if (!wanted || wanted({document, window})) {
        windows.push_back(&encoded_[document].windows[window]);
        places.push_back({document, window});
      }
    }
  }
  const auto keep = [&](std::size_t index, const WindowOutput& output) {
    consume_window(task, places[index], output, consume);
  };
  EncoderRunner runner(task, limits);
  if (hidden) {
    runner.run_hidden(windows, keep);
  } else {
    runner.run_head(windows, keep);
  }
}

formats::Json EncodedBatch::metadata(std::size_t document) const {
  const EncodedDocument& encoded = encoded_[document];
  formats::Json metadata = {{"tokens", encoded.tokens},
                            {"windows", encoded.windows.size()},
                            {"truncated", encoded.left_out},
                            {"dtype", dtype_}};
  for (const auto& [name, value] : computed_[document]) {
    metadata[name] = value;
  }
  return metadata;
}

LengthRule whole_texts(const TaskModel& task, const RunOptions& options) {
  return {.maximum = task.maximum,
          .overflow = options.truncate ? Overflow::kTruncate : Overflow::kError,
          .model = task.name};
}

LengthRule windowed_texts(const TaskModel& task, const RunOptions& options, text::Truncation side) {
  return {.maximum = task.maximum,
          .stride = options.stride < 0 ? default_stride(task.maximum) : options.stride,
          .overflow = options.truncate ? Overflow::kTruncate : Overflow::kWindows,
          .side = side,
          .model = task.name};
}

Error named_numeric_error(const TaskModel& task, const std::string& document, const Error& error) {
  return {error.kind(), concat(document, ", model ", task.name, ": ", error.what()),
          concat(option("check_tensors"), " tells whether the model's weights hold NaN or infinity")};
}

std::span<const float> numbers(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace weft::tasks
