// SPDX-License-Identifier: Apache-2.0
// Layouts and tensors for tests of the operator that are about one thing.
#pragma once

#include <string>
#include <vector>

#include <torch/types.h>

#include "weft/attention/attention.h"

namespace weft::test {

struct Tensors {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

inline attention::LayoutPtr layout_of(const std::string& expression, std::int64_t length, std::int64_t heads,
                                      pattern::Tile tile = {}) {
  pattern::Site site;
  site.query_length = site.key_length = length;
  site.heads = heads;
  return std::make_shared<const attention::Layout>(pattern::compile(pattern::Pattern::parse(expression), site, tile),
                                                   expression);
}

/// N(0, 1), [batch, heads, length, head_dim] each.
inline Tensors random_tensors(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  at::manual_seed(11);
  return {at::randn(sizes, dtype), at::randn(sizes, dtype), at::randn(sizes, dtype)};
}

inline attention::AttentionResult run(const Tensors& tensors, const attention::LayoutPtr& layout,
                                      attention::Path path = attention::Path::kAuto) {
  attention::AttentionOptions options;
  options.path = path;
  return attention::attention(tensors.query, tensors.key, tensors.value, layout, options);
}

}  // namespace weft::test
