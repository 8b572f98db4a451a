// SPDX-License-Identifier: Apache-2.0
// Texts in rows, of which a data set may have more than a computer has memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/disk/spilled_bytes.h"
#include "weft/fine_tuning/open_answers/answer_spans.h"

namespace weft::fine_tuning {

/// Parts in the order in which they were added; part() gives the one that was added with that number.
class StoredParts {
 public:
  StoredParts() = default;
  explicit StoredParts(std::size_t most_in_memory) : bytes_("windows", most_in_memory) {}

  /// Errors: as SpilledBytes::append().
  void add(const RowPart& part);
  std::size_t size() const noexcept { return places_.size(); }
  /// Errors: kArgument for a number that none has; as SpilledBytes::read().
  RowPart part(std::size_t number) const;
  /// Its text alone.
  std::string text(std::size_t number) const;

 private:
  struct Place {
    std::uint64_t begin = 0;    // in `bytes_`: the text, its tokens' bytes, their words
    std::uint64_t letters = 0;  // of the text
    std::uint64_t tokens = 0;
    std::uint64_t words = 0;
    std::int64_t row_begin = 0;
    std::int64_t from = 0;
  };
  const Place& place(std::size_t number) const;

  SpilledBytes bytes_{"windows"};
  std::vector<Place> places_;
};

}  // namespace weft::fine_tuning
