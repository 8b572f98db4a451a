// SPDX-License-Identifier: Apache-2.0
// The rows of the CPU. Running sums have no kernel: they are LibTorch's products on every device.
#include "weft/attention/backends/cpu/cpu_backend.h"

#include "weft/attention/backends/blocks/decode.h"
#include "weft/attention/backends/cpu/dense_attention.h"
#include "weft/attention/backends/cpu/element_dropout.h"
#include "weft/attention/backends/cpu/flash_products.h"
#include "weft/attention/backends/cpu/kernel_attention.h"
#include "weft/attention/backends/cpu/relative_kernel.h"
#include "weft/attention/backends/cpu/rotation.h"
#include "weft/attention/backends/cpu/row_convolution.h"
#include "weft/attention/tensors.h"
#include "weft/core/cpu.h"

namespace weft::attention {
namespace {

Forward fused_whole(const Call& call) { return kernel_forward(call, kernels::chosen_isa()); }
Gradients fused_gradients(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  return kernel_backward(call, kernels::chosen_isa(), forward, output_gradient);
}

Forward scalar_whole(const Call& call) { return kernel_forward(call, kernels::InstructionSet::kScalar); }
Gradients scalar_gradients(const Call& call, const Forward& forward, const at::Tensor& output_gradient) {
  return kernel_backward(call, kernels::InstructionSet::kScalar, forward, output_gradient);
}

std::optional<Forward> decode_fused(const Call& call) { return fused_whole(call); }
std::optional<Forward> decode_flash(const Call& call) { return decode_by({fused_type, flash_forward}, call); }

bool serves_cpu(c10::DeviceType device) { return device == c10::DeviceType::CPU; }

// float16 has no fast product on most CPUs; bfloat16 has one where the processor has.
bool is_slow_on_cpu(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Half || (dtype == c10::ScalarType::BFloat16 && !has_fast_bfloat16());
}

constexpr Way kCpuWays[] = {
    {Path::kFused, true, fused_takes, fused_whole, fused_gradients},
    {Path::kDense, true, cpu_dense_takes, cpu_dense_forward, cpu_dense_backward},
    {Path::kScalar, false, scalar_takes, scalar_whole, scalar_gradients},
};
constexpr DecodeWay kCpuDecoding[] = {{fused_takes, decode_fused}, {flash_takes, decode_flash}};

}  // namespace

constinit const Backend kCpuBackend = {
    .name = "cpu",
    .ways = kCpuWays,
    .decode = kCpuDecoding,
    .relative = {kernel_takes_relative, kernel_relative_forward, kernel_relative_backward},
    .convolution = {kernel_takes_convolution, kernel_convolution, kernel_convolution_gradients},
    .dropout = {cpu_takes_dropout, cpu_dropout},
    .rotation = {cpu_takes_rotation, cpu_rotation},
    .traits = {serves_cpu, is_slow_on_cpu, true, true},
};

}  // namespace weft::attention
