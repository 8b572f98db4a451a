// SPDX-License-Identifier: Apache-2.0
// What is read by its place after it was appended, and may be more than a computer's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/descriptor.h"

namespace weft {

/// Bytes in the order in which they were appended. The first of them stay in memory; those beyond a bound go to a file
/// without a name (scratch_file.h), which is made when the bound is passed. Several threads may read while none
/// appends.
class SpilledBytes {
 public:
  /// As many stay in memory: a data set of usual size does whole.
  static constexpr std::size_t kMostInMemory = std::size_t{256} << 20;

  /// `content` says in messages about the file what it holds.
  explicit SpilledBytes(std::string content, std::size_t most_in_memory = kMostInMemory)
      : content_(std::move(content)), most_in_memory_(most_in_memory) {}

  /// Errors: kIo where the file cannot be made or the disk is full, naming the folder and TMPDIR.
  void append(const void* data, std::size_t bytes);
  std::uint64_t size() const noexcept { return front_.size() + in_file_ + back_.size(); }
  /// The bytes from `place` on, all of which were appended. Errors: kIo.
  void read(std::uint64_t place, void* to, std::size_t bytes) const;

 private:
  std::string content_;
  std::size_t most_in_memory_;
  std::vector<char> front_;
  Descriptor file_;            // what is behind the front
  std::uint64_t in_file_ = 0;  // bytes of it
  std::vector<char> back_;     // not yet written
};

}  // namespace weft
