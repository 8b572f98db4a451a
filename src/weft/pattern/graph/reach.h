// SPDX-License-Identifier: Apache-2.0
// How far a stack of layers carries information: through each layer a position receives what its neighbours hold, and
// keeps what it holds itself (the residual connection).
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pattern/graph/sample.h"
#include "weft/pattern/graph/word_rows.h"

namespace weft::pattern {

class Reach {
 public:
  /// Follows the content of the given positions; 64 are carried at a time.
  Reach(std::int64_t positions, std::vector<std::int64_t> sources);

  /// Passes one more layer, and returns how many positions now hold the content of a source, itself included, on
  /// average: over all sources this is also how many positions one position has heard of.
  Estimate pass(const WordRows& layer);

 private:
  std::int64_t positions_;
  std::vector<std::int64_t> sources_;
  std::vector<std::vector<std::uint64_t>> holds_;  // [batches of 64 sources][positions]: bit s is source s
};

}  // namespace weft::pattern
