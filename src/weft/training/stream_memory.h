// SPDX-License-Identifier: Apache-2.0
// The memories of all rows of a step, between steps and in checkpoints: a run that is resumed goes on with the memories
// that it would have had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "weft/core/disk/model_file.h"
#include "weft/layers/memory/segment_memory.h"

namespace weft::training {

/// The rows of part p are the same streams in every step. A step that does not end (a signal, a loss that is not
/// finite) leaves the memories before it as they were.
class StreamMemory {
 public:
  explicit StreamMemory(std::int64_t parts) : before_(parts), after_(parts) {}

  /// What `part` of `step` goes on from, for the model to replace by what the part leaves; empty unless `goes_on`.
  /// Asked for again, it is the same. Errors: kArgument for a step that is neither the last nor the next one.
  std::shared_ptr<layers::SegmentMemory> begin(std::int64_t step, std::int64_t part, bool goes_on);

  /// Writes the memories behind the last whole step.
  void save(const std::filesystem::path& file) const;
  /// Reads them; `step` is the next one. Errors: kIo; kFormat for memories of another step, or of another shape than
  /// `layers` of [rows, up to most, width], and as many compressed ones or none.
  struct Shape {
    std::int64_t layers;
    std::int64_t rows;
    std::int64_t most;
    std::int64_t width;
    std::int64_t compressed = 0;  ///< most compressed rows
  };
  void load(const FilePlace& file, std::int64_t step, const Shape& shape);

 private:
  bool is_whole() const;

  std::int64_t step_ = 0;                                      // that of before_
  std::vector<layers::SegmentMemory> before_;                  // of each part
  std::vector<std::shared_ptr<layers::SegmentMemory>> after_;  // null where the step has not come to the part
};

}  // namespace weft::training
