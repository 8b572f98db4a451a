// SPDX-License-Identifier: Apache-2.0
// Dropout of elements in every instruction set of this machine against one Philox draw at a time, bit by bit.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "weft/core/random.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/element_dropout.h"
#include "weft/kernels/storage.h"

namespace weft::test {
namespace {

using kernels::ElementDropout;

template <class Storage>
std::vector<typename Storage::Memory> numbers(std::int64_t count) {
  std::vector<typename Storage::Memory> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i) {
    Storage::store(&made[i], static_cast<float>(i % 251) * 0.37F - 40.0F);
  }
  // A dropped infinity or NaN is zero and not NaN.
  if (count > 2) {
    Storage::store(&made[1], std::numeric_limits<float>::infinity());
    Storage::store(&made[2], std::numeric_limits<float>::quiet_NaN());
  }
  return made;
}

bool keeps_first(const ElementDropout& call, std::int64_t element) {
  const Philox4 draw = philox(call.seed.number, static_cast<std::uint64_t>(element / 4), 0);
  return random_unit(draw.value[element % 4]) >= call.probability;
}

// Written from the definition: 128 elements share 16 draws of four words of two signed halves.
bool keeps_second(const ElementDropout& call, std::int64_t element) {
  const std::int64_t place = element % 128;
  const auto counter = static_cast<std::uint64_t>(16 * (element / 128) + place % 16);
  const std::uint32_t word = philox_rounds<7>(call.seed.number, counter, 0).value[place / 32];
  const auto number = static_cast<std::int16_t>(place / 16 % 2 == 0 ? word & 0xFFFF : word >> 16);
  return call.probability == 0.0F || number >= kernels::half_threshold(call.probability);
}

template <class Storage>
std::vector<typename Storage::Memory> one_by_one(std::vector<typename Storage::Memory> values,
                                                 const ElementDropout& call) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t element = call.first + static_cast<std::int64_t>(i);
    const bool kept =
        call.seed.draws == DropoutDraws::kFirst ? keeps_first(call, element) : keeps_second(call, element);
    Storage::store(&values[i], kept ? Storage::load(&values[i]) * call.scale : 0.0F);
  }
  return values;
}

template <class Storage>
void expect_one_by_one(kernels::InstructionSet isa, ElementDropout call) {
  const auto input = numbers<Storage>(call.count);
  auto output = input;
  call.input = input.data();
  call.output = output.data();
  kernels::drop_elements(isa, call);
  const auto expected = one_by_one<Storage>(input, call);
  EXPECT_TRUE(call.count == 0 || std::memcmp(output.data(), expected.data(), output.size() * sizeof(output[0])) == 0)
      << kernels::to_string(isa) << ", " << call.count << " elements, probability " << call.probability << ", draws "
      << static_cast<int>(call.seed.draws);
}

template <class Storage>
void expect_same_draws(kernels::DType dtype) {
  for (const kernels::InstructionSet isa : kernels::kInstructionSets) {
    if (!kernels::is_available(isa) || isa == kernels::InstructionSet::kScalar) {
      continue;
    }
    ASSERT_TRUE(kernels::drops_elements(isa, dtype)) << kernels::to_string(isa);
    for (const std::int64_t count : {0, 1, 3, 4, 7, 16, 31, 63, 64, 65, 127, 128, 130, 1003}) {
      for (const float probability : {0.0F, 1e-7F, 0.1F, 0.5F, 0.999F}) {
        // The counter's upper word changes on the way.
        ElementDropout call{.dtype = dtype, .count = count, .probability = probability, .scale = 1.25F};
        call.seed = {0x123456789ABCDEF0, DropoutDraws::kFirst};
        call.first = ((std::int64_t{1} << 32) - 5) * 4;
        expect_one_by_one<Storage>(isa, call);
        call.seed.draws = DropoutDraws::kSecond;
        call.first = ((std::int64_t{1} << 28) - 1) * kernels::kElementBlock;
        expect_one_by_one<Storage>(isa, call);
      }
    }
  }
}

TEST(ElementDropout, EveryInstructionSetDropsTheSameElements) {
  expect_same_draws<kernels::PlainStorage<float>>(kernels::DType::kFloat32);
  expect_same_draws<kernels::BFloat16Storage>(kernels::DType::kBFloat16);
}

TEST(ElementDropout, OtherNumbersAreLeftToThePlainLoop) {
  EXPECT_FALSE(kernels::drops_elements(kernels::InstructionSet::kGeneric, kernels::DType::kFloat64));
  EXPECT_FALSE(kernels::drops_elements(kernels::InstructionSet::kGeneric, kernels::DType::kFloat16));
  EXPECT_FALSE(kernels::drops_elements(kernels::InstructionSet::kScalar, kernels::DType::kFloat32));
}

}  // namespace
}  // namespace weft::test
