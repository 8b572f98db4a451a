// SPDX-License-Identifier: Apache-2.0
// A pattern with strides over a whole text as parts of permuted_attention(): the rows of each stride lie in columns,
// where its edges are full blocks (pattern/compile/stride_columns.h); all other edges keep the order of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/attention/permuted/permuted_attention.h"
#include "weft/pattern/pattern.h"

namespace weft::attention {

/// Orders and layouts for one length. They do not change and may be shared.
class StrideParts {
 public:
  /// Null where the pattern keeps the order of the text at `site`. Errors: as Pattern::check.
  static std::shared_ptr<const StrideParts> find(const pattern::Pattern& pattern, const pattern::Site& site);

  /// The parts of a call whose tensors lie where `like` does. `key_keep`: bool [B, length], or undefined for all keys.
  std::vector<PermutedPart> parts(const at::Tensor& like, const at::Tensor& key_keep) const;

 private:
  struct Columns {
    at::Tensor rows;    // int64 [places]: the row at each place, for a spare place the one before it in its column
    at::Tensor spare;   // bool [places]; undefined where no key has to be hidden
    at::Tensor places;  // int64 [length]: the place of each row
    LayoutPtr layout;
  };

  std::vector<Columns> columns_;
  LayoutPtr rest_;  // null: all edges are in columns
};

}  // namespace weft::attention
