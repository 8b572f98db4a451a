// SPDX-License-Identifier: Apache-2.0
// What is left of a block of queries that has seen some of its keys: maxima, sums and weighted values, to be joined
// with those of its other keys.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/scores/softmax_panel.h"
#include "weft/kernels/fused/tile.h"

namespace weft::kernels {

template <class Isa>
struct RowPart {
  SoftmaxRows<Isa>* rows;
  float* output;  ///< [panel][value_dim][kPanel]
};

template <class Isa>
class RowParts {
 public:
  RowParts(std::int64_t count, std::int64_t value_dim) noexcept
      : rows_(count), output_size_(kTile * value_dim), outputs_(count * output_size_) {}

  bool is_there() const noexcept { return rows_.is_there() && outputs_.is_there(); }
  RowPart<Isa> at(std::int64_t part) const noexcept {
    return {rows_.data() + part, outputs_.data() + part * output_size_};
  }

 private:
  Buffer<Isa, SoftmaxRows<Isa>> rows_;
  std::int64_t output_size_;
  Buffer<Isa, float> outputs_;
};

}  // namespace weft::kernels
