// SPDX-License-Identifier: Apache-2.0
// Views of one tensor, or one tensor out of two.
#include "weft/layers/blocks/rows.h"

#include <ATen/ops/cat.h>

namespace weft::layers {

Rows Rows::joined(at::Tensor both, std::int64_t count) {
  if (count == 0) {
    return {std::move(both)};
  }
  Rows rows;
  rows.both_ = std::move(both);
  rows.count_ = count;
  return rows;
}

at::Tensor Rows::text() const { return both_.defined() ? both_.narrow(1, count_, both_.size(1) - count_) : text_; }

at::Tensor Rows::companions() const { return both_.defined() ? both_.narrow(1, 0, count_) : companions_; }

at::Tensor Rows::both() const {
  if (both_.defined()) {
    return both_;
  }
  return count_ == 0 ? text_ : at::cat({companions_, text_}, 1);
}

}  // namespace weft::layers
