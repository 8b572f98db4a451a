// SPDX-License-Identifier: Apache-2.0
// Examples are learned from or held out, and what is kept of them is kept twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::fine_tuning {

enum class Split : std::uint8_t { kTraining, kHeldOut };

/// One for each split.
template <typename Value>
class BySplit {
 public:
  Value& operator[](Split split) { return both_[static_cast<std::size_t>(split)]; }
  const Value& operator[](Split split) const { return both_[static_cast<std::size_t>(split)]; }

 private:
  std::array<Value, 2> both_;
};

}  // namespace weft::fine_tuning
