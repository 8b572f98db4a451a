// SPDX-License-Identifier: Apache-2.0
// Element i takes the draw of its number: in vectors, or by the plain loop, which drops the same elements.
#include "weft/attention/backends/cpu/element_dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "weft/core/random.h"
#include "weft/kernels/element_dropout.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kGroup = 4;  // elements drawn by one Philox call
constexpr std::int64_t kGroupsOfATask = 4096;

// In vectors, where there are kernels for this processor and number format; drop_elements() below is their reference.
bool drop_in_vectors(const at::Tensor& input, at::Tensor& output, float probability, std::uint64_t seed) {
  const bool half = input.scalar_type() == at::kBFloat16;
  const kernels::DType dtype = half ? kernels::DType::kBFloat16 : kernels::DType::kFloat32;
  const kernels::InstructionSet isa = kernels::chosen_isa();
  if ((!half && input.scalar_type() != at::kFloat) || !kernels::drops_elements(isa, dtype) || probability >= 1.0F) {
    return false;
  }
  const float scale = 1.0F / (1.0F - probability);
  const kernels::ElementDropout whole{.dtype = dtype,
                                      .input = input.const_data_ptr(),
                                      .output = output.mutable_data_ptr(),
                                      .count = input.numel(),
                                      .seed = seed,
                                      .probability = probability,
                                      .scale = half ? static_cast<float>(at::BFloat16(scale)) : scale};
  const std::int64_t bytes = kGroup * input.element_size();
  at::parallel_for(0, (whole.count + kGroup - 1) / kGroup, kGroupsOfATask, [&](std::int64_t begin, std::int64_t end) {
    kernels::ElementDropout share = whole;
    share.input = static_cast<const char*>(whole.input) + begin * bytes;
    share.output = static_cast<char*>(whole.output) + begin * bytes;
    share.count = std::min(end * kGroup, whole.count) - begin * kGroup;
    share.first_group = static_cast<std::uint64_t>(begin);
    kernels::drop_elements(isa, share);
  });
  return true;
}

template <typename Scalar>
void drop_group(const Scalar* input, Scalar* output, std::int64_t count, const Philox4& draw, float probability) {
  const float scale = 1.0F / (1.0F - probability);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool kept = random_unit(draw.value[i]) >= probability;
    output[i] = kept ? static_cast<Scalar>(input[i] * static_cast<Scalar>(scale)) : Scalar(0);
  }
}

template <typename Scalar>
void drop_elements(const Scalar* input, Scalar* output, std::int64_t count, float probability, std::uint64_t seed) {
  const std::int64_t groups = (count + kGroup - 1) / kGroup;
  at::parallel_for(0, groups, kGroupsOfATask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group * kGroup;
      // Element i takes word i % 4 of the draw with counter i / 4, whichever thread comes to it.
      const Philox4 draw = philox(seed, static_cast<std::uint64_t>(group), 0);
      drop_group(input + first, output + first, std::min(kGroup, count - first), draw, probability);
    }
  });
}

}  // namespace

Answer cpu_takes_dropout(const DropoutCall& call) {
  return Answer::unless(!call.x.is_cpu(), "draws by number of the element serve the CPU only");
}

at::Tensor cpu_dropout(const DropoutCall& call) {
  const at::Tensor& x = call.x;
  const auto probability = static_cast<float>(call.probability);
  at::Tensor output = at::empty_like(x);
  if (drop_in_vectors(x, output, probability, call.seed)) {
    return output;
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "dropout", [&] {
    drop_elements(x.const_data_ptr<scalar_t>(), output.mutable_data_ptr<scalar_t>(), x.numel(), probability, call.seed);
  });
  return output;
}

}  // namespace weft::attention
