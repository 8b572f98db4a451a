// SPDX-License-Identifier: Apache-2.0
// Seeded dropout as a custom autograd function.
#include "weft/attention/seeded_dropout.h"

#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "weft/core/random.h"
#include "weft/kernels/element_dropout.h"

namespace weft::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kGroup = 4;  // elements drawn by one Philox call
constexpr std::int64_t kGroupsOfATask = 4096;

// In vectors, where there are kernels for this processor and number format; drop() below is their reference.
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
void drop(const Scalar* input, Scalar* output, std::int64_t count, float probability, std::uint64_t seed) {
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

at::Tensor drop_on_cpu(const at::Tensor& x, double probability, std::uint64_t seed) {
  at::Tensor output = at::empty_like(x);
  if (drop_in_vectors(x, output, static_cast<float>(probability), seed)) {
    return output;
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "dropout", [&] {
    drop(x.const_data_ptr<scalar_t>(), output.mutable_data_ptr<scalar_t>(), x.numel(), static_cast<float>(probability),
         seed);
  });
  return output;
}

at::Tensor drop_on_device(const at::Tensor& x, double probability, std::uint64_t seed) {
  // A clone: the device's own generator does not move, so that other draws stay what they were.
  at::Generator generator = at::globalContext().defaultGenerator(x.device()).clone();
  generator.set_current_seed(seed);
  return at::empty_like(x).bernoulli_(1.0 - probability, generator).mul_(1.0 / (1.0 - probability)).mul_(x);
}

at::Tensor drop(const at::Tensor& x, double probability, std::uint64_t seed) {
  const at::Tensor dense = x.contiguous();
  return x.is_cpu() ? drop_on_cpu(dense, probability, seed) : drop_on_device(dense, probability, seed);
}

struct DropoutFunction : torch::autograd::Function<DropoutFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double probability, std::int64_t seed) {
    context->saved_data["probability"] = probability;
    // IValue has no unsigned integers; the cast and its way back keep all bits.
    context->saved_data["seed"] = seed;
    return drop(x, probability, static_cast<std::uint64_t>(seed));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const double probability = context->saved_data["probability"].toDouble();
    const auto seed = static_cast<std::uint64_t>(context->saved_data["seed"].toInt());
    // d(mask x) = mask: drawn again from the seed, so that nothing was kept.
    return {drop(gradients[0], probability, seed), {}, {}};
  }
};

}  // namespace

at::Tensor seeded_dropout(const at::Tensor& x, double probability, std::uint64_t seed) {
  return probability <= 0.0 ? x : DropoutFunction::apply(x, probability, static_cast<std::int64_t>(seed));
}

}  // namespace weft::attention
