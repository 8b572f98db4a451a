// SPDX-License-Identifier: Apache-2.0
// Strides as they are, a copy only where the columns are not contiguous.
#include "weft/attention/backends/kernel_call.h"

#include <ATen/ops/empty.h>

#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

at::Tensor with_contiguous_columns(const at::Tensor& tensor) {
  return tensor.size(3) <= 1 || tensor.stride(3) == 1 ? tensor : tensor.contiguous();
}

at::Tensor contiguous_if_given(const at::Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : tensor; }

const std::int32_t* memory_of(const at::Tensor& positions) {
  return positions.defined() ? positions.const_data_ptr<std::int32_t>() : nullptr;
}

}  // namespace

kernels::DType kernel_dtype(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return kernels::DType::kFloat64;
    case at::kBFloat16:
      return kernels::DType::kBFloat16;
    case at::kHalf:
      return kernels::DType::kFloat16;
    default:
      return kernels::DType::kFloat32;
  }
}

kernels::Input kernel_input(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

kernels::Output kernel_output(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

Forward room_for_results(const Call& call) {
  const at::Tensor& query = call.query;
  return {empty_heads({query.size(0), query.size(1), query.size(2), call.value.size(3)}, query.options()),
          at::empty({query.size(0), query.size(1), query.size(2)}, query.options().dtype(accumulation_type(query)))};
}

KernelCall::KernelCall(const Call& call, const Forward& results)
    : query_(with_contiguous_columns(call.query)),
      key_(with_contiguous_columns(call.key)),
      value_(with_contiguous_columns(call.value)),
      results_{with_contiguous_columns(results.output), results.log_sum_exp.contiguous()} {
  arguments_.dtype = kernel_dtype(call.query.scalar_type());
  arguments_.batch = call.query.size(0);
  arguments_.heads = call.query.size(1);
  arguments_.key_heads = call.key.size(1);
  arguments_.query_length = call.query.size(2);
  arguments_.key_length = call.key.size(2);
  arguments_.head_dim = call.query.size(3);
  arguments_.value_dim = call.value.size(3);
  arguments_.scale = call.scale;
  arguments_.query = kernel_input(query_);
  arguments_.key = kernel_input(key_);
  arguments_.value = kernel_input(value_);
  arguments_.output = kernel_output(results_.output);
  arguments_.log_sum_exp = results_.log_sum_exp.mutable_data_ptr();
  arguments_.layout = call.layout->blocks().view();
  arguments_.dropout = call.dropout;
  point_at_terms(call);
  const char* problem = kernels::validate(arguments_);
  require(problem == nullptr, "attention: ", problem == nullptr ? "" : problem);
}

void KernelCall::point_at_terms(const Call& call) {
  const std::int64_t query_offset = call.layout->blocks().query_offset;
  if (call.key_keep.defined()) {
    keep_ = call.key_keep.contiguous().view(at::kByte);
    arguments_.key_keep = keep_.const_data_ptr<std::uint8_t>();
  }
  if (call.distances.scores.defined()) {
    distances_ = call.distances.scores.contiguous();
    arguments_.distances = {distances_.const_data_ptr(), distances_.size(1), distances_.size(2), call.distances.zero,
                            query_offset};
  }
  if (call.relative.query.defined()) {
    relative_query_ = with_contiguous_columns(call.relative.query);
    const at::Tensor& rows = call.relative.rows;
    relative_rows_ = rows.stride(2) == 1 ? rows : rows.contiguous();
    arguments_.relative = {kernel_input(relative_query_),
                           {relative_rows_.const_data_ptr(), 0, relative_rows_.stride(0), relative_rows_.stride(1)},
                           relative_rows_.size(1),
                           call.relative.zero,
                           query_offset};
  }
  query_positions_ = contiguous_if_given(call.positions.queries);
  key_positions_ = contiguous_if_given(call.positions.keys);
  first_positions_ = contiguous_if_given(call.positions.first);
  arguments_.positions = {memory_of(query_positions_), memory_of(key_positions_), memory_of(first_positions_),
                          call.positions.causal, call.positions.not_self};
}

KernelGradients::KernelGradients(const Call& call, const at::Tensor& output_gradient)
    : output_gradient_(with_contiguous_columns(output_gradient)) {
  const auto room_for = [](const at::Tensor& tensor) { return empty_heads(tensor.sizes(), tensor.options()); };
  results_ = {room_for(call.query), room_for(call.key), room_for(call.value)};
  arguments_.output_gradient = kernel_input(output_gradient_);
  arguments_.query_gradient = kernel_output(results_.query);
  arguments_.key_gradient = kernel_output(results_.key);
  arguments_.value_gradient = kernel_output(results_.value);
  if (call.asks_distances) {
    results_.distances = at::empty(call.distances.scores.sizes(), call.distances.scores.options());
    arguments_.distance_gradient = results_.distances.mutable_data_ptr();
  }
  if (call.relative.query.defined()) {
    results_.relative_query = room_for(call.query);
    results_.relative_rows =
        at::empty(call.relative.rows.sizes(), call.query.options().dtype(accumulation_type(call.query)));
    arguments_.relative_query_gradient = kernel_output(results_.relative_query);
    arguments_.relative_rows_gradient = results_.relative_rows.mutable_data_ptr();
  }
}

}  // namespace weft::attention
