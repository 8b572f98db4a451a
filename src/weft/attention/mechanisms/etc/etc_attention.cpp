// SPDX-License-Identifier: Apache-2.0
// A call taken apart into global tokens and text.
#include "weft/attention/mechanisms/etc/etc_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <utility>

#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr double kLabelDeviation = 0.5;  // as published
constexpr std::int64_t kUsualRadius = 84;
constexpr std::int64_t kUsualDistance = 12;
constexpr std::int64_t kLargestRadius = 1 << 16;
constexpr std::int64_t kLargestDistance = 1024;

EtcShape etc_shape(const std::string& expression) {
  MechanismSettings given(expression, "global_local");
  EtcShape shape;
  shape.radius = given.number("radius", kUsualRadius, 1, kLargestRadius);
  shape.max_distance = given.number("distance", kUsualDistance, 1, kLargestDistance);
  const std::string hard = given.word("hard", {"none", "g2l", "l2g", "both"});
  shape.hard_global_to_long = hard == "g2l" || hard == "both";
  shape.hard_long_to_global = hard == "l2g" || hard == "both";
  given.check_all_taken({"radius", "distance", "hard"});
  return shape;
}

const char* hard_edges(const EtcShape& shape) {
  if (shape.hard_global_to_long) {
    return shape.hard_long_to_global ? "both" : "g2l";
  }
  return shape.hard_long_to_global ? "l2g" : "none";
}

// The window and q . E. How many global tokens a text has is its own business.
double etc_operations(const EtcShape& shape, const MechanismSite& site, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const double seen = std::min(tokens, 2 * static_cast<double>(shape.radius) + 1);
  return 2 * tokens * static_cast<double>(site.head_dim) *
         (2 * seen + static_cast<double>(relative_labels(shape.max_distance)));
}

EtcStructure given_structure(const AttentionContext& context) {
  const auto* const given = dynamic_cast<const EtcStructure*>(context.structure.get());
  require(given != nullptr || context.structure == nullptr,
          "attention: `global_local` was told of companions of another kind than global tokens");
  return given != nullptr ? *given : EtcStructure{};
}

}  // namespace

MechanismSpec parse_etc(const std::string& expression) {
  const EtcShape shape = etc_shape(expression);
  MechanismSpec spec;
  spec.name = "global_local";
  spec.description = concat("global_local(radius=", shape.radius, ", distance=", shape.max_distance,
                            ", hard=", hard_edges(shape), ")");
  spec.companions = true;
  spec.brings_positions = true;
  spec.parameters = {"labels", "label_bias", "global_labels", "global_label_bias"};
  spec.limits.causal = "its global tokens see the whole text, so that later tokens reach earlier ones";
  spec.limits.incremental = "its global tokens change with every token";
  spec.limits.cross = "its global tokens are those of one text";
  spec.not_observed = "global_local also attends to global tokens, which are no places of the text";
  spec.limits.distances = "its own scores know the distance";
  spec.operations = [shape](const MechanismSite& site, std::int64_t length) {
    return etc_operations(shape, site, length);
  };
  return spec;
}

EtcAttention::EtcAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : AttentionImpl(std::move(spec), site), shape_(etc_shape(this->spec().description)) {
  const std::int64_t count = relative_labels(shape_.max_distance);
  const at::NoGradGuard without_gradients;
  const auto table = [&](const char* name) {
    return register_parameter(name, at::empty({count, site.heads, site.head_dim}, options))
        .normal_(0.0, kLabelDeviation);
  };
  const auto bias = [&](const char* name) {
    return register_parameter(name, at::empty({count, site.heads}, options)).zero_();
  };
  labels_ = table("labels");
  label_bias_ = bias("label_bias");
  global_labels_ = table("global_labels");
  global_label_bias_ = bias("global_label_bias");
}

at::Tensor EtcAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                 const AttentionContext& context) {
  check_tensors(query, key, value, {});
  const std::int64_t count = context.companions;
  const std::int64_t length = query.size(2) - count;
  require(count > 0 && length > 0 && key.size(2) == query.size(2) && query.size(1) == site().heads, "attention: `",
          description(), "` of ", site().heads,
          " heads takes rows of global tokens and of one text behind them, found ", count, " global tokens, queries ",
          query.sizes(), " and keys ", key.sizes());
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  EtcStructure structure = given_structure(context);
  structure.keep = kept_keys(context, key.narrow(2, count, length));
  check_structure(structure, query.size(0), length, count);
  const at::ScalarType type = accumulation_type(query);
  const auto part = [&](std::int64_t first, std::int64_t rows, const at::Tensor& keep, const at::Tensor& table,
                        const at::Tensor& bias) {
    const auto clean = [&](const at::Tensor& all) {
      return repeat_key_heads(without_padding(all.narrow(2, first, rows), keep), site().heads).to(type);
    };
    return etc_rows(clean(query), clean(key), clean(value), table, bias);
  };
  const EtcRows globals = part(0, count, structure.global_keep, global_labels_, global_label_bias_);
  const EtcRows tokens = part(count, length, structure.keep, labels_, label_bias_);
  EtcPairs pairs = etc_pairs(structure, tokens, globals);
  const DropoutOfCall dropped = dropout_of(context);
  pairs.dropout = dropped.probability;
  pairs.seed = dropped.seed;
  return at::cat({without_padding(global_rows(tokens, globals, pairs, shape_), structure.global_keep),
                  without_padding(long_rows(tokens, globals, pairs, shape_), structure.keep)},
                 2)
      .to(query.scalar_type());
}

}  // namespace weft::attention
