// SPDX-License-Identifier: Apache-2.0
// Which keys a query sees is a pattern, (q + u) is the query of the kernel and (q + v) that of its second product.
#include "weft/attention/mechanisms/relative/relative_kernel.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "weft/attention/kernel_attention.h"
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

LayoutPtr layout_of_relative(const RelativeCall& call) {
  pattern::Site site;
  site.query_length = call.query.size(2);
  site.key_length = call.key.size(2);
  site.query_offset = call.query_offset;
  site.heads = call.query.size(1);
  return cached_layout(pattern::Pattern::parse(seen_by_relative(call)), site, {call.query.size(2) == 1 ? 1 : 64, 64});
}

Call kernel_call_of(const RelativeCall& given) {
  const auto with_bias = [&given](const at::Tensor& bias) {
    return given.query + bias.to(given.query.scalar_type()).unsqueeze(1);
  };
  return {.query = with_bias(given.content_bias),
          .key = given.key,
          .value = given.value,
          .key_keep = given.keep,
          .layout = layout_of_relative(given),
          .scale = 1.0 / std::sqrt(static_cast<double>(given.query.size(3))),
          .dropout = {static_cast<float>(given.dropout), given.seed, 0},
          .distances = given.added,
          .relative = {with_bias(given.distance_bias), given.distances.to(given.query.scalar_type()), -given.nearest}};
}

}  // namespace

bool has_relative_kernel(const RelativeCall& call) {
  const at::Tensor& query = call.query;
  const bool is_one_kind = query.scalar_type() == at::kFloat && call.key.scalar_type() == at::kFloat &&
                           call.value.scalar_type() == at::kFloat && query.is_cpu() && query.numel() > 0 &&
                           call.key.numel() > 0;
  return is_one_kind &&
         fused_supports({.query = query, .key = call.key, .value = call.value, .layout = layout_of_relative(call)});
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

Forward relative_kernel_forward(const RelativeCall& call) {
  return kernel_forward(kernel_call_of(call), kernels::chosen_isa());
}

RelativeGradients relative_kernel_backward(const RelativeCall& call, const Forward& forward,
                                           const at::Tensor& output_gradient) {
  Call kernel_call = kernel_call_of(call);
  kernel_call.asks_distances = call.added.scores.defined();
  const Gradients found =
      kernel_backward(kernel_call, kernels::chosen_isa(), forward, output_gradient.to(call.query.scalar_type()));
  const auto of_bias = [](const at::Tensor& gradient, const at::Tensor& bias) {
    return gradient.sum(at::IntArrayRef({0, 2}), false, accumulation_type(gradient)).to(bias.scalar_type());
  };
  return {found.query + found.relative_query,
          found.key,
          found.value,
          found.relative_rows.to(call.distances.scalar_type()),
          of_bias(found.query, call.content_bias),
          of_bias(found.relative_query, call.distance_bias),
          found.distances};
}

}  // namespace weft::attention
