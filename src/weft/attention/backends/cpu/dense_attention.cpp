// SPDX-License-Identifier: Apache-2.0
// The fused CPU operator over whole tensors. Half types are multiplied in float32 where the processor is slow at them.
#include "weft/attention/backends/cpu/dense_attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

#include "weft/attention/backends/blocks/block_attention.h"
#include "weft/attention/backends/portable/dense_calls.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

at::Tensor prepared(const Call& call, const at::Tensor& tensor) {
  return repeat_key_heads(tensor.to(fused_type(call.query)), call.query.size(1));
}

bool has_only_finite(const Call& call) { return all_finite({call.query, call.key, call.value}); }

Forward flash_whole_forward(const Call& call) {
  auto [output, log_sum_exp] = at::_scaled_dot_product_flash_attention_for_cpu(
      prepared(call, call.query), prepared(call, call.key), prepared(call, call.value), 0.0, !call.layout->is_full(),
      std::nullopt, call.scale);
  return {output.to(call.query.scalar_type()), log_sum_exp};
}

Gradients flash_whole_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      prepared(call, output_gradient), prepared(call, call.query), prepared(call, call.key), prepared(call, call.value),
      prepared(call, forward.output), forward.log_sum_exp, 0.0, !call.layout->is_full(), std::nullopt, call.scale);
  return {query.to(call.query.scalar_type()), sum_key_heads(key, call.key), sum_key_heads(value, call.value)};
}

}  // namespace

Answer cpu_dense_takes(const Call& call) {
  return call.query.is_cpu() ? dense_takes(call)
                             : Answer::no("the dense path of the operator, with a log-sum-exp, serves the CPU only");
}

Forward cpu_dense_forward(const Call& call) {
  return has_only_finite(call) ? flash_whole_forward(call) : block_forward(call);
}

Gradients cpu_dense_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  return has_only_finite(call) && all_finite({output_gradient, forward.log_sum_exp})
             ? flash_whole_backward(call, forward, output_gradient)
             : block_backward(call, forward, output_gradient);
}

}  // namespace weft::attention
