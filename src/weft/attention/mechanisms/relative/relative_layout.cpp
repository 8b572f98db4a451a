// SPDX-License-Identifier: Apache-2.0
// Which keys a query sees is a pattern; (q + u) is the query of its products and (q + v) that of the relative term.
#include "weft/attention/mechanisms/relative/relative_layout.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <string>

#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

// What `left` and `causal` leave of all pairs.
std::string seen_by_relative(const RelativeCall& call) {
  if (!call.seen.empty()) {
    return call.seen;
  }
  if (call.left < 0) {
    return call.causal ? "causal" : "full";
  }
  const std::int64_t right = call.causal ? 0 : std::max<std::int64_t>(call.key.size(2), 1);
  return concat("window(left=", call.left, ", right=", right, ")");
}

}  // namespace

LayoutPtr layout_of_relative(const RelativeCall& call) {
  pattern::Site site;
  site.query_length = call.query.size(2);
  site.key_length = call.key.size(2);
  site.query_offset = call.query_offset;
  site.heads = call.query.size(1);
  return cached_layout(pattern::Pattern::parse(seen_by_relative(call)), site, {call.query.size(2) == 1 ? 1 : 64, 64});
}

MassCall mass_call_of(const RelativeCall& given) {
  const at::ScalarType type = accumulation_type(given.query);
  const auto with_bias = [&](const at::Tensor& bias) { return given.query.to(type) + bias.to(type).unsqueeze(1); };
  return {.query = with_bias(given.content_bias),
          .key = given.key.to(type),
          .layout = layout_of_relative(given),
          .key_keep = given.keep,
          .relative = {with_bias(given.distance_bias), given.distances.to(type), -given.nearest}};
}

}  // namespace weft::attention
