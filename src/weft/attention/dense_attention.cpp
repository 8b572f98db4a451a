// SPDX-License-Identifier: Apache-2.0
// The fused CPU operator over whole tensors. Half types are multiplied in float32 where the processor is slow at them.
#include "weft/attention/dense_attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

at::Tensor prepared(const Call& call, const at::Tensor& tensor) {
  return repeat_key_heads(tensor.to(fused_type(call.query)), call.query.size(1));
}

}  // namespace

bool is_dense(const Call& call) {
  // The fused operator divides by zero where there is nothing to do.
  return call.query.numel() > 0 && call.key.numel() > 0 && call.query.size(3) == call.value.size(3) &&
         !call.key_keep.defined() && call.dropout.probability == 0 && !call.distances.scores.defined() &&
         !call.positions.queries.defined() && (call.layout->is_full() || call.layout->is_causal());
}

Forward dense_forward(const Call& call) {
  auto [output, log_sum_exp] = at::_scaled_dot_product_flash_attention_for_cpu(
      prepared(call, call.query), prepared(call, call.key), prepared(call, call.value), 0.0, !call.layout->is_full(),
      std::nullopt, call.scale);
  return {output.to(call.query.scalar_type()), log_sum_exp};
}

Gradients dense_backward(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  auto [query, key, value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      prepared(call, output_gradient), prepared(call, call.query), prepared(call, call.key), prepared(call, call.value),
      prepared(call, forward.output), forward.log_sum_exp, 0.0, !call.layout->is_full(), std::nullopt, call.scale);
  return {query.to(call.query.scalar_type()), sum_key_heads(key, call.key), sum_key_heads(value, call.value)};
}

}  // namespace weft::attention
