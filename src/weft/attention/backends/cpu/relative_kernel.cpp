// SPDX-License-Identifier: Apache-2.0
// (q + u) is the query of the fused kernel and (q + v) that of its second product. Half types are widened first: q + u
// would lose digits in them, and the kernel in float32 is several times as fast as products of the half type.
#include "weft/attention/backends/cpu/relative_kernel.h"

#include <ATen/TensorOperators.h>

#include <cmath>

#include "weft/attention/backends/cpu/kernel_attention.h"
#include "weft/attention/mechanisms/relative/relative_layout.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

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

bool is_widened(const RelativeCall& call) { return at::isReducedFloatingType(call.query.scalar_type()); }

RelativeCall in_float32(RelativeCall call) {
  for (at::Tensor* tensor : {&call.query, &call.key, &call.value}) {
    *tensor = tensor->to(at::kFloat);
  }
  return call;
}

bool is_all_float32(const RelativeCall& call) {
  return call.query.scalar_type() == at::kFloat && call.key.scalar_type() == at::kFloat &&
         call.value.scalar_type() == at::kFloat;
}

RelativeGradients float32_gradients(const RelativeCall& call, const Forward& forward,
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

}  // namespace

Answer kernel_takes_relative(const RelativeCall& call) {
  if (!call.query.is_cpu() || !(is_widened(call) || is_all_float32(call))) {
    return Answer::no("the relative product of its kernels serves float32, bfloat16 and float16 on a CPU only");
  }
  if (call.key_distances.defined()) {
    return Answer::no("its kernels have no product of keys with distances");
  }
  if (call.query.numel() == 0 || call.key.numel() == 0) {
    return Answer::no("its kernels have no relative product of empty tensors");
  }
  return fused_takes({.query = call.query, .key = call.key, .value = call.value, .layout = layout_of_relative(call)});
}

RelativeForward kernel_relative_forward(const RelativeCall& call) {
  const Call wide = kernel_call_of(is_widened(call) ? in_float32(call) : call);
  const Forward found = kernel_forward(wide, kernels::chosen_isa());
  return {found.output.to(call.query.scalar_type()), found};
}

RelativeGradients kernel_relative_backward(const RelativeCall& call, const Forward& kept,
                                           const at::Tensor& output_gradient) {
  if (!is_widened(call)) {
    return float32_gradients(call, kept, output_gradient);
  }
  RelativeGradients found = float32_gradients(in_float32(call), kept, output_gradient);
  found.query = found.query.to(call.query.scalar_type());
  found.key = found.key.to(call.key.scalar_type());
  found.value = found.value.to(call.value.scalar_type());
  return found;
}

}  // namespace weft::attention
