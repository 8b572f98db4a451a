// SPDX-License-Identifier: Apache-2.0
// Fills the kernels' arguments from tensors: strides as they are, a copy only where the columns are not side by side.
#include "call.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "checks.h"
#include "layouts.h"
#include "threads.h"
#include "weft/core/error.h"
#include "weft/kernels/fused.h"

namespace weft::python {
namespace {

using torch::headeronly::ScalarType;

Tensor with_contiguous_columns(const Tensor& tensor) {
  return tensor.size(3) <= 1 || tensor.stride(3) == 1 ? tensor : torch::stable::contiguous(tensor);
}

/// Without the dispatcher, which takes longer than the rest of a short call.
template <std::size_t Dimensions>
Tensor empty_tensor(std::int32_t dtype, const std::array<std::int64_t, Dimensions>& sizes,
                    const std::array<std::int64_t, Dimensions>& strides) {
  AtenTensorHandle handle = nullptr;
  const AOTITorchError problem = aoti_torch_empty_strided(std::int64_t{Dimensions}, sizes.data(), strides.data(), dtype,
                                                          aoti_torch_device_type_cpu(), 0, &handle);
  if (problem != AOTI_TORCH_SUCCESS) {
    fail(ErrorKind::kUnsupported, "attend: no memory for a result");
  }
  return Tensor(handle);
}

/// [B, H, N, C] that is [B, N, H, C] in memory, so that joining the heads is no copy.
Tensor empty_heads(const Tensor& like, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  std::int32_t dtype = 0;
  if (aoti_torch_get_dtype(like.get(), &dtype) != AOTI_TORCH_SUCCESS) {
    fail(ErrorKind::kUnsupported, "attend: a tensor has no dtype");
  }
  const std::int64_t head = std::max<std::int64_t>(columns, 1);
  const std::int64_t row = head * std::max<std::int64_t>(heads, 1);
  return empty_tensor<4>(dtype, {like.size(0), heads, rows, columns},
                         {row * std::max<std::int64_t>(rows, 1), head, row, 1});
}

/// float32 [B, H, N]
Tensor empty_sums(const Tensor& like, std::int64_t heads, std::int64_t rows) {
  const std::int64_t head = std::max<std::int64_t>(rows, 1);
  return empty_tensor<3>(aoti_torch_dtype_float32(), {like.size(0), heads, rows},
                         {head * std::max<std::int64_t>(heads, 1), head, 1});
}

Tensor empty_as_heads(const Tensor& tensor) {
  return empty_heads(tensor, tensor.size(1), tensor.size(2), tensor.size(3));
}

kernels::Input input_of(const Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

kernels::Output output_of(const Tensor& tensor) {
  return {tensor.mutable_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

/// The inputs with columns side by side, which the arguments point into.
Inputs held(const Inputs& inputs) {
  Inputs result = inputs;
  result.query = with_contiguous_columns(inputs.query);
  result.key = with_contiguous_columns(inputs.key);
  result.value = with_contiguous_columns(inputs.value);
  if (inputs.key_keep) {
    result.key_keep = torch::stable::contiguous(*inputs.key_keep);
  }
  if (inputs.distances) {
    result.distances = torch::stable::contiguous(*inputs.distances);
  }
  return result;
}

attention::LayoutPtr layout_for(const Inputs& inputs, const Settings& settings) {
  pattern::Site site;
  site.query_length = inputs.query.size(2);
  site.key_length = inputs.key.size(2);
  site.query_offset = settings.query_offset;
  site.heads = inputs.query.size(1);
  site.layer = settings.layer;
  return layout_of(settings.pattern, site);
}

kernels::AttentionArguments arguments_of(const Inputs& inputs, const Settings& settings,
                                         const attention::Layout& layout, const Forward& forward) {
  kernels::AttentionArguments arguments;
  arguments.dtype = kernel_dtype(inputs.query);
  arguments.batch = inputs.query.size(0);
  arguments.heads = inputs.query.size(1);
  arguments.key_heads = inputs.key.size(1);
  arguments.query_length = inputs.query.size(2);
  arguments.key_length = inputs.key.size(2);
  arguments.head_dim = inputs.query.size(3);
  arguments.value_dim = inputs.value.size(3);
  arguments.scale = settings.scale;
  arguments.query = input_of(inputs.query);
  arguments.key = input_of(inputs.key);
  arguments.value = input_of(inputs.value);
  arguments.output = output_of(forward.output);
  arguments.log_sum_exp = forward.log_sum_exp.mutable_data_ptr();
  arguments.layout = layout.blocks().view();
  if (inputs.key_keep) {
    arguments.key_keep = static_cast<const std::uint8_t*>(inputs.key_keep->const_data_ptr());
  }
  if (settings.dropout > 0) {
    const auto seed = *static_cast<const std::int64_t*>(inputs.seed->const_data_ptr());
    arguments.dropout = {static_cast<float>(settings.dropout), static_cast<std::uint64_t>(seed), 0};
  }
  if (inputs.distances) {
    arguments.distances = {inputs.distances->const_data_ptr(), inputs.distances->size(1), inputs.distances->size(2),
                           settings.distance_zero, settings.query_offset};
  }
  const char* problem = kernels::validate(arguments);
  require(problem == nullptr, "attend: ", problem == nullptr ? "" : problem);
  return arguments;
}

void check_status(kernels::Status status) {
  if (status == kernels::Status::kOutOfMemory) {
    fail(ErrorKind::kUnsupported, "attend: no memory for the workspace of the kernel");
  }
  require(status == kernels::Status::kOk, "attend: the kernel does not take this call");
}

bool has_no_pairs(const Inputs& inputs) {
  return inputs.query.size(0) == 0 || inputs.query.size(2) == 0 || inputs.key.size(2) == 0;
}

}  // namespace

Forward attend(const Inputs& inputs, const Settings& settings) {
  check(inputs, settings);
  const Tensor& query = inputs.query;
  const Forward forward{empty_heads(query, query.size(1), query.size(2), inputs.value.size(3)),
                        empty_sums(query, query.size(1), query.size(2))};
  if (has_no_pairs(inputs)) {
    Tensor output = forward.output;
    Tensor log_sum_exp = forward.log_sum_exp;
    torch::stable::zero_(output);
    torch::stable::fill_(log_sum_exp, -std::numeric_limits<double>::infinity());
    return forward;
  }
  const attention::LayoutPtr layout = layout_for(inputs, settings);
  const Inputs call = held(inputs);
  check_status(
      kernels::fused_forward(kernels::chosen_isa(), arguments_of(call, settings, *layout, forward), threads()));
  return forward;
}

Gradients attend_backward(const Tensor& output_gradient, const Inputs& inputs, const Forward& forward,
                          const Settings& settings) {
  check(inputs, settings);
  check_results(inputs, forward, output_gradient);
  const Tensor none = torch::stable::new_empty(inputs.query, std::vector<std::int64_t>{0}, ScalarType::Float);
  Gradients result{empty_as_heads(inputs.query), empty_as_heads(inputs.key), empty_as_heads(inputs.value),
                   inputs.distances ? torch::stable::new_zeros(*inputs.distances, inputs.distances->sizes()) : none};
  if (has_no_pairs(inputs)) {
    for (Tensor* gradient : {&result.query, &result.key, &result.value}) {
      torch::stable::zero_(*gradient);
    }
    return result;
  }
  const attention::LayoutPtr layout = layout_for(inputs, settings);
  const Inputs call = held(inputs);
  const Forward saved{with_contiguous_columns(forward.output), torch::stable::contiguous(forward.log_sum_exp)};
  const Tensor incoming = with_contiguous_columns(output_gradient);
  kernels::AttentionGradients gradients;
  gradients.output_gradient = input_of(incoming);
  gradients.query_gradient = output_of(result.query);
  gradients.key_gradient = output_of(result.key);
  gradients.value_gradient = output_of(result.value);
  gradients.distance_gradient = inputs.distances ? result.distances.mutable_data_ptr() : nullptr;
  gradients.transpose = layout->transpose().view();
  check_status(kernels::fused_backward(kernels::chosen_isa(), arguments_of(call, settings, *layout, saved), gradients,
                                       threads()));
  return result;
}

}  // namespace weft::python
