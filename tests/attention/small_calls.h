// SPDX-License-Identifier: Apache-2.0
// Layouts, tensors and observed calls for tests of the operator and of what watches it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "weft/attention/attention.h"
#include "weft/attention/profile/tile_scores.h"

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

/// A call of two heads that share their keys.
struct CallCase {
  const char* expression;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t offset;
  pattern::Tile tile;
  bool padded;
  bool table;
};

struct PatternCall {
  pattern::Pattern pattern;
  pattern::Site site;
  attention::MassCall call;
};

inline PatternCall call_of(const CallCase& one, std::int64_t batch) {
  at::manual_seed(5);
  PatternCall made{pattern::Pattern::parse(one.expression), {}, {}};
  made.site.query_length = one.queries;
  made.site.key_length = one.keys;
  made.site.query_offset = one.offset;
  made.site.heads = 2;
  made.call.query = at::randn({batch, 2, one.queries, 8});
  made.call.key = at::randn({batch, 1, one.keys, 8});
  made.call.layout = std::make_shared<const attention::Layout>(pattern::compile(made.pattern, made.site, one.tile));
  made.call.scale = 0.7;
  if (one.padded) {
    made.call.key_keep = at::rand({batch, one.keys}) < 0.7;
    made.call.query_keep = at::rand({batch, one.queries}) < 0.7;
  }
  if (one.table) {
    made.call.distances = {at::randn({2, 2, 21}), 10};
  }
  return made;
}

/// Probabilities, float64 [batch, heads, queries, keys], of all rows: the oracle's output for the identity as values.
inline at::Tensor probabilities(const PatternCall& made) {
  const attention::MassCall& call = made.call;
  attention::AttentionOptions options;
  options.scale = call.scale;
  options.key_keep = call.key_keep;
  options.distances = call.distances;
  const at::Tensor identity = at::eye(made.site.key_length, at::kDouble).expand({call.key.size(0), 1, -1, -1});
  return attention::dense_oracle(call.query.to(at::kDouble), call.key.to(at::kDouble), identity,
                                 {made.pattern, made.site, {}}, options);
}

}  // namespace weft::test
