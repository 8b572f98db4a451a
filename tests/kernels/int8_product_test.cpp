// SPDX-License-Identifier: Apache-2.0
// Products of codes in every instruction set of this machine against whole numbers summed one by one; what is not
// finite stays in its row; threads change no bit.
#include "weft/kernels/int8/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/emulated_tiles.h"
#include "weft/core/cpu.h"
#include "weft/core/random.h"

namespace weft::test {
namespace {

using kernels::Int8Function;
using kernels::Int8Product;
using kernels::Int8Set;

constexpr float kMark = -77.0F;
constexpr std::size_t kBehind = 16;  // numbers behind y that nobody may write

std::vector<float> spread_numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 4.0F * random_unit(philox(seed, i, 0).value[0]) - 2.0F;
  }
  return numbers;
}

/// A weight and a product with it.
struct CodedProduct {
  CodedProduct(std::int64_t rows, std::int64_t inputs, std::int64_t outputs)
      : CodedProduct(rows, inputs, outputs, spread_numbers(outputs * inputs, 1), spread_numbers(rows * inputs, 2)) {}
  CodedProduct(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, const std::vector<float>& weight,
               std::vector<float> numbers)
      : codes(static_cast<std::size_t>(kernels::padded_outputs(outputs) * kernels::padded_inputs(inputs))),
        scales(static_cast<std::size_t>(kernels::padded_outputs(outputs))),
        corrections(scales.size()),
        x(std::move(numbers)),
        bias(spread_numbers(outputs, 3)) {
    const kernels::Int8Storage storage{outputs, inputs, codes.data(), scales.data(), corrections.data()};
    EXPECT_TRUE(kernels::quantise_outputs(storage, weight.data(), 0, outputs));
    call.weight = {outputs, inputs, codes.data(), scales.data(), corrections.data()};
    call.outputs = outputs;
    call.rows = rows;
  }

  std::int64_t written() const { return call.is_gated ? call.outputs / 2 : call.outputs; }

  std::vector<float> run(Int8Set set, const ParallelFor& parallel = kSerial) {
    std::vector<float> y(static_cast<std::size_t>(call.rows * written()) + kBehind, kMark);
    std::vector<float> workspace(
        static_cast<std::size_t>(kernels::int8_workspace(set, call.rows, call.weight.inputs)) / sizeof(float) + 1);
    call.x = x.data();
    call.bias = bias.empty() ? nullptr : bias.data() + call.first;
    call.y = y.data();
    call.workspace = workspace.data();
    kernels::multiply_int8(set, call, parallel);
    EXPECT_TRUE(std::all_of(y.end() - kBehind, y.end(), [](float one) { return one == kMark; }));
    y.resize(y.size() - kBehind);
    return y;
  }

  /// One sum: codes of the row by codes of the output, scales and bias in float64.
  double sum(std::int64_t row, std::int64_t output) const {
    const auto inputs = static_cast<std::size_t>(call.weight.inputs);
    const float* const its = x.data() + static_cast<std::size_t>(row) * inputs;
    std::vector<std::int8_t> its_codes(inputs);
    kernels::read_codes(call.weight, call.first + output, its_codes.data());
    float most = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      most = std::max(most, std::abs(its[i]));
    }
    std::int64_t whole = 0;
    for (std::size_t i = 0; i < inputs && most > 0; ++i) {
      whole += static_cast<std::int64_t>(std::nearbyint(its[i] * (127.0F / most))) * its_codes[i];
    }
    const auto place = static_cast<std::size_t>(call.first + output);
    return static_cast<double>(whole) * (most / 127.0F) * scales[place] + (bias.empty() ? 0.0F : bias[place]);
  }

  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<std::int32_t> corrections;
  std::vector<float> x;
  std::vector<float> bias;
  Int8Product call;
};

double applied(Int8Function function, double x) {
  switch (function) {
    case Int8Function::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Int8Function::kGeluNew:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Int8Function::kQuickGelu:
      return x / (1 + std::exp(-1.702 * x));
    case Int8Function::kRelu:
      return std::max(x, 0.0);
    case Int8Function::kSilu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

class Int8Products : public ::testing::TestWithParam<Int8Set> {
 protected:
  void SetUp() override {
    if (!kernels::is_available(GetParam())) {
      GTEST_SKIP() << "this processor has no " << kernels::to_string(GetParam());
    }
  }

  static void expect_right(CodedProduct& product) {
    const std::vector<float> y = product.run(GetParam());
    for (std::int64_t row = 0; row < product.call.rows; ++row) {
      for (std::int64_t output = 0; output < product.written(); ++output) {
        double expected = applied(product.call.function, product.sum(row, output));
        expected *= product.call.is_gated ? product.sum(row, output + product.written()) : 1.0;
        // Two scales, a bias and a function, each rounded in float32.
        ASSERT_NEAR(y[static_cast<std::size_t>(row * product.written() + output)], expected,
                    1e-5 * (1 + std::abs(expected)))
            << product.call.rows << " rows, " << product.call.weight.inputs << " inputs, row " << row << ", output "
            << output << " of " << product.call.outputs;
      }
    }
  }
};

TEST_P(Int8Products, OddShapes) {
  for (const std::int64_t rows : {0, 1, 5, 27}) {
    for (const std::int64_t inputs : {1, 7, 16, 33}) {
      for (const std::int64_t outputs : {1, 16, 37}) {
        CodedProduct product(rows, inputs, outputs);
        expect_right(product);
        product.bias.clear();
        expect_right(product);
      }
    }
  }
}

TEST_P(Int8Products, FunctionsAndGates) {
  for (const Int8Function function : {Int8Function::kNone, Int8Function::kGelu, Int8Function::kGeluNew,
                                      Int8Function::kQuickGelu, Int8Function::kRelu, Int8Function::kSilu}) {
    for (const bool gated : {false, true}) {
      CodedProduct product(13, 20, 64);
      product.call.function = function;
      product.call.is_gated = gated;
      expect_right(product);
    }
  }
}

TEST_P(Int8Products, SomeOutputs) {
  CodedProduct product(3, 20, 64);
  product.call.first = 16;
  product.call.outputs = 21;
  expect_right(product);
}

// 127 times 127 in all places: where an instruction cuts sums off, it is here. 1,040 of them are below 2^24.
TEST_P(Int8Products, LargestCodesAreExact) {
  constexpr std::int64_t kInputs = 1040;
  const std::vector<float> weight(17 * kInputs, 127.0F);
  for (const float sign : {1.0F, -1.0F}) {
    CodedProduct product(2, kInputs, 17, weight, std::vector<float>(2 * kInputs, sign * 127.0F));
    product.bias.clear();
    for (const float one : product.run(GetParam())) {
      ASSERT_EQ(one, sign * 127.0F * 127.0F * kInputs);
    }
  }
}

TEST_P(Int8Products, WhatIsNotFiniteStaysInItsRow) {
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    CodedProduct product(3, 37, 20);
    const std::vector<float> before = product.run(GetParam());
    product.x[37 + 5] = wrong;
    const std::vector<float> after = product.run(GetParam());
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (i / 20 == 1) {
        EXPECT_TRUE(std::isnan(after[i]));
      } else {
        EXPECT_EQ(after[i], before[i]);
      }
    }
  }
}

TEST_P(Int8Products, ZerosAndTheSmallestNumbers) {
  CodedProduct product(2, 8, 5);
  std::fill_n(product.x.begin(), 8, 0.0F);
  std::fill_n(product.x.begin() + 8, 8, 1e-38F);
  const std::vector<float> y = product.run(GetParam());
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], product.bias[i % 5]);
  }
}

TEST_P(Int8Products, BFloat16) {
  CodedProduct product(5, 12, 21);
  std::vector<std::uint16_t> half(product.x.size());
  for (std::size_t i = 0; i < half.size(); ++i) {
    half[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(product.x[i]) >> 16);
    product.x[i] = std::bit_cast<float>(std::uint32_t{half[i]} << 16);
  }
  const std::vector<float> expected = product.run(GetParam());
  std::vector<std::uint16_t> y(expected.size());
  std::vector<float> workspace(1024);
  product.call.dtype = kernels::DType::kBFloat16;
  product.call.x = half.data();
  product.call.y = y.data();
  product.call.workspace = workspace.data();
  kernels::multiply_int8(GetParam(), product.call, kSerial);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(std::bit_cast<float>(std::uint32_t{y[i]} << 16), expected[i], std::abs(expected[i]) / 128);
  }
}

// Ranges of an item each, in threads of their own.
constexpr ParallelFor kManyThreads{[](std::int64_t count, std::int64_t grain, ParallelFor::Body body, void* context) {
                                     std::vector<std::thread> threads;
                                     threads.reserve(static_cast<std::size_t>(count / grain + 1));
                                     for (std::int64_t begin = 0; begin < count; begin += grain) {
                                       const std::int64_t end = std::min(count, begin + grain);
                                       threads.emplace_back([=] { body(context, begin, end); });
                                     }
                                     for (std::thread& thread : threads) {
                                       thread.join();
                                     }
                                   },
                                   [] { return std::int64_t{3}; }};

TEST_P(Int8Products, ThreadsChangeNoBit) {
  CodedProduct product(70, 64, 200);
  EXPECT_EQ(product.run(GetParam()), product.run(GetParam(), kManyThreads));
}

INSTANTIATE_TEST_SUITE_P(Sets, Int8Products, ::testing::ValuesIn(kernels::kInt8Sets),
                         [](const auto& instance) { return std::string(kernels::to_string(instance.param)); });

#if defined(__x86_64__)
// Tiles of AMX, as loops, in place of the vectors that they stand in for: whole and cut tiles, widths that tiles do not
// take, gates, one thread and several.
class Int8Tiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_features().avx512_bf16 || !kernels::is_available(Int8Set::kAvx512Vnni)) {
      GTEST_SKIP() << "emulated tiles need AVX-512 with BF16 and VNNI";
    }
  }

  static std::vector<float> run(CodedProduct& product, const kernels::Int8Kernels& kernels,
                                const ParallelFor& parallel) {
    std::vector<float> y(static_cast<std::size_t>(product.call.rows * product.written()) + kBehind, kMark);
    const std::int64_t rows = (product.call.rows + kernels.rows - 1) / kernels.rows * kernels.rows;
    std::vector<float> workspace(
        static_cast<std::size_t>(rows * kernels::padded_inputs(product.call.weight.inputs) / 4 + product.call.rows));
    product.call.x = product.x.data();
    product.call.bias = product.bias.data();
    product.call.y = y.data();
    product.call.workspace = workspace.data();
    kernels.multiply(product.call, parallel);
    return y;
  }
};

TEST_F(Int8Tiles, GiveTheBitsOfVectors) {
  for (const std::int64_t rows : {1, 4, 5, 16, 17, 32, 45, 131}) {
    for (const std::int64_t inputs : {36, 64, 192}) {
      for (const std::int64_t outputs : {32, 48, 70, 128}) {
        for (const bool gated : {false, true}) {
          CodedProduct product(rows, inputs, outputs);
          product.call.is_gated = gated && outputs % (2 * kernels::kInt8Panel) == 0;
          product.call.function = Int8Function::kGelu;
          const std::vector<float> expected = run(product, kernels::kAvx512VnniInt8, kSerial);
          ASSERT_EQ(run(product, kEmulatedAmxInt8, kSerial), expected) << rows << ' ' << inputs << ' ' << outputs;
          ASSERT_EQ(run(product, kEmulatedAmxInt8, kManyThreads), expected) << rows << ' ' << inputs << ' ' << outputs;
        }
      }
    }
  }
}

TEST_F(Int8Tiles, LargestCodesAreExact) {
  constexpr std::int64_t kInputs = 1024;
  const std::vector<float> weight(32 * kInputs, 127.0F);
  for (const float sign : {1.0F, -1.0F}) {
    CodedProduct product(32, kInputs, 32, weight, std::vector<float>(32 * kInputs, sign * 127.0F));
    product.bias.assign(32, 0.0F);
    const std::vector<float> y = run(product, kEmulatedAmxInt8, kSerial);
    EXPECT_TRUE(
        std::all_of(y.begin(), y.end() - kBehind, [&](float one) { return one == sign * 127.0F * 127.0F * kInputs; }));
  }
}
#endif

TEST(Int8Codes, ComeBackAsTheyWerePlaced) {
  std::vector<std::int8_t> codes(5 * 18);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
  }
  CodedProduct product(0, 18, 5);
  const kernels::Int8Storage storage{5, 18, product.codes.data(), product.scales.data(), product.corrections.data()};
  EXPECT_TRUE(kernels::place_codes(storage, codes.data(), 0, 5));
  std::vector<std::int8_t> read(18);
  for (std::int64_t output = 0; output < 5; ++output) {
    kernels::read_codes(product.call.weight, output, read.data());
    EXPECT_TRUE(std::equal(read.begin(), read.end(), codes.begin() + output * 18));
  }
  codes[40] = -128;
  EXPECT_FALSE(kernels::place_codes(storage, codes.data(), 0, 5));
}

TEST(Int8Codes, WeightsThatAreNotFiniteAreRefused) {
  CodedProduct product(0, 4, 2);
  const kernels::Int8Storage storage{2, 4, product.codes.data(), product.scales.data(), product.corrections.data()};
  std::vector<float> weight(8, 1.0F);
  weight[6] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(kernels::quantise_outputs(storage, weight.data(), 0, 2));
  EXPECT_TRUE(kernels::quantise_outputs(storage, weight.data(), 0, 1));
}

}  // namespace
}  // namespace weft::test
