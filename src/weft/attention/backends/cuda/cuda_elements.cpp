// SPDX-License-Identifier: Apache-2.0
// One pass over memory each.
#include "weft/attention/backends/cuda/cuda_elements.h"

#include <ATen/ops/empty_like.h>

#include "weft/attention/backends/kernel_call.h"
#include "weft/kernels/element_dropout.h"

namespace weft::attention {
namespace {

Answer takes_elements(const KernelDevice& kernels, const at::Tensor& x) {
  const at::ScalarType dtype = x.scalar_type();
  if (x.device().type() != kernels.type) {
    return Answer::no("the CUDA kernels serve tensors on a GPU");
  }
  if (dtype != at::kFloat && dtype != at::kBFloat16 && dtype != at::kHalf) {
    return Answer::no("the CUDA kernels serve float32, bfloat16 and float16");
  }
  return serves_device(kernels, x.device());
}

// 1 / (1 - p) as the dtype holds it, as on a CPU.
float scale_held_by(at::ScalarType dtype, float probability) {
  const float scale = 1.0F / (1.0F - probability);
  if (dtype == at::kBFloat16) {
    return static_cast<float>(at::BFloat16(scale));
  }
  return dtype == at::kHalf ? static_cast<float>(at::Half(scale)) : scale;
}

}  // namespace

Answer cuda_takes_dropout(const KernelDevice& kernels, const DropoutCall& call) {
  if (call.seed.draws != DropoutDraws::kSecond) {
    return Answer::no("the first draws of dropout serve the CPU and the portable path");
  }
  if (static_cast<float>(call.probability) >= 1.0F) {
    return Answer::no("the CUDA kernels drop elements with a probability below 1");
  }
  return takes_elements(kernels, call.x);
}

at::Tensor cuda_dropout(const KernelDevice& kernels, const DropoutCall& call) {
  const Launch launch(kernels, call.x.device());
  const auto probability = static_cast<float>(call.probability);
  at::Tensor output = at::empty_like(call.x);
  const kernels::ElementDropout arguments{.dtype = kernel_dtype(call.x.scalar_type()),
                                          .input = call.x.const_data_ptr(),
                                          .output = output.mutable_data_ptr(),
                                          .count = call.x.numel(),
                                          .seed = call.seed,
                                          .probability = probability,
                                          .scale = scale_held_by(call.x.scalar_type(), probability)};
  launch.check(launch.library().drop_elements(&arguments, launch.handle()));
  return output;
}

Answer cuda_takes_rotation(const KernelDevice& kernels, const RotationCall& call) {
  return takes_elements(kernels, call.x);
}

void cuda_rotation(const KernelDevice& kernels, const RotationCall& call, const at::Tensor& output) {
  const Launch launch(kernels, call.x.device());
  const kernels::cuda::DeviceRotation arguments{.dtype = kernel_dtype(call.x.scalar_type()),
                                                .batch = call.x.size(0),
                                                .heads = call.x.size(1),
                                                .length = call.x.size(2),
                                                .half = call.x.size(3) / 2,
                                                .input = kernel_input(call.x),
                                                .output = kernel_output(output),
                                                .cosine = call.cosine.const_data_ptr<float>(),
                                                .sine = call.sine.const_data_ptr<float>(),
                                                .is_inverse = call.is_inverse};
  launch.check(launch.library().rotate(&arguments, launch.handle()));
}

}  // namespace weft::attention
