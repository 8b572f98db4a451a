// SPDX-License-Identifier: Apache-2.0
// Element i takes the draw of its number: in vectors, or by the plain loop, which drops the same elements.
#include "weft/attention/backends/cpu/element_dropout.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "weft/core/random.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/element_dropout.h"

namespace weft::attention {
namespace {

// Threads take whole blocks, which are whole draws of either kind. A thread takes some 10 us for so many: waking it
// costs about as much.
constexpr std::int64_t kBlock = kernels::kElementBlock;
constexpr std::int64_t kBlocksOfATask = 256;

template <typename Work>
void each_share(std::int64_t count, const Work& work) {
  at::parallel_for(0, (count + kBlock - 1) / kBlock, kBlocksOfATask,
                   [&](std::int64_t begin, std::int64_t end) { work(begin * kBlock, std::min(end * kBlock, count)); });
}

// In vectors, where there are kernels for this processor and number format; drop_elements() below is their reference.
bool drop_in_vectors(const at::Tensor& input, at::Tensor& output, float probability, const DropoutSeed& seed) {
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
  each_share(whole.count, [&](std::int64_t begin, std::int64_t end) {
    kernels::ElementDropout share = whole;
    share.input = static_cast<const char*>(whole.input) + begin * input.element_size();
    share.output = static_cast<char*>(whole.output) + begin * input.element_size();
    share.count = end - begin;
    share.first = begin;
    kernels::drop_elements(isa, share);
  });
  return true;
}

/// Which elements stay, one after the other.
class Draws {
 public:
  Draws(float probability, const DropoutSeed& seed) : probability_(probability), seed_(seed) {}

  bool keeps(std::int64_t element) const {
    if (seed_.draws == DropoutDraws::kFirst) {
      const Philox4 draw = philox(seed_.number, static_cast<std::uint64_t>(element / 4), 0);
      return random_unit(draw.value[element % 4]) >= probability_;
    }
    using Numbers = kernels::ElementDraws;
    const Philox4 draw = philox_rounds<kernels::KeyDraws::kRounds>(seed_.number, Numbers::draw_of(element), 0);
    const std::uint32_t word = draw.value[Numbers::word_of(element)];
    return probability_ < 1.0F &&
           kernels::half_of(word, Numbers::half_of(element)) >= kernels::half_threshold(probability_);
  }

 private:
  float probability_;
  DropoutSeed seed_;
};

template <typename Scalar>
void drop_elements(const Scalar* input, Scalar* output, std::int64_t count, float probability,
                   const DropoutSeed& seed) {
  const Draws draws(probability, seed);
  const auto scale = static_cast<Scalar>(1.0F / (1.0F - probability));
  each_share(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      output[i] = draws.keeps(i) ? static_cast<Scalar>(input[i] * scale) : Scalar(0);
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
