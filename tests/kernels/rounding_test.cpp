// SPDX-License-Identifier: Apache-2.0
// Kernels of 16-bit numbers round no more than flash attention does: their distance from float64 is at most that of a
// model of its roundings on the same inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/exact_case.h"
#include "kernels/kernel_case.h"
#include "kernels/kernel_variants.h"

namespace weft::test {
namespace {

using kernels::DType;

constexpr std::int64_t kLength = 256;
constexpr std::int64_t kWidth = 64;

class KernelRounding : public ::testing::TestWithParam<KernelVariant> {
 protected:
  void SetUp() override {
    if (!kernels::is_available(GetParam().isa)) {
      GTEST_SKIP() << "this machine has no " << kernels::to_string(GetParam().isa);
    }
    if (GetParam().is_plain()) {
      GTEST_SKIP() << "the plain kernel rounds results alone";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, KernelRounding, ::testing::ValuesIn(kernel_variants()),
                         [](const auto& instance) { return instance.param.name; });

using Rows = std::vector<double>;  // [rows][columns]

template <typename Storage>
double rounded(double value) {
  typename Storage::Memory memory;
  Storage::store(&memory, static_cast<typename Storage::Sum>(value));
  return static_cast<double>(Storage::load(&memory));
}

// left [rows][inner] times right [inner][columns], or the transposes of one of them.
Rows product(const Rows& left, const Rows& right, std::int64_t columns, bool is_left_transposed = false,
             bool is_right_transposed = false) {
  const auto inner = static_cast<std::int64_t>(right.size()) / columns;
  const auto rows = static_cast<std::int64_t>(left.size()) / inner;
  Rows sums(static_cast<std::size_t>(rows * columns), 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t at = 0; at < inner; ++at) {
      const double factor = left[static_cast<std::size_t>(is_left_transposed ? at * rows + row : row * inner + at)];
      for (std::int64_t column = 0; column < columns; ++column) {
        sums[static_cast<std::size_t>(row * columns + column)] +=
            factor * right[static_cast<std::size_t>(is_right_transposed ? column * inner + at : at * columns + column)];
      }
    }
  }
  return sums;
}

// Flash attention of one head (Dao et al. 2022, 2023; algorithms 1 and 2) in which all is exact but what it rounds to
// 16 bits: weights, of which the largest of a row is 1; gradients of scores; results.
template <typename Storage>
class FlashRoundings {
 public:
  template <typename Case>
  explicit FlashRoundings(Case& call)
      : query_(call.query.values()), key_(call.key.values()), value_(call.value.values()), scale_(call.scale) {
    weights_ = product(query_, key_, kLength, false, true);
    for (std::int64_t row = 0; row < kLength; ++row) {
      double* const of_row = &weights_[static_cast<std::size_t>(row * kLength)];
      const double greatest = *std::max_element(of_row, of_row + kLength);
      double sum = 0;
      for (std::int64_t at = 0; at < kLength; ++at) {
        of_row[at] = std::exp(scale_ * (of_row[at] - greatest));
        sum += of_row[at];
      }
      sums_.push_back(sum);
    }
  }

  Rows output() const {
    Rows result = product(each_rounded(weights_), value_, kWidth);
    for (std::size_t at = 0; at < result.size(); ++at) {
      result[at] = rounded<Storage>(result[at] / sums_[at / kWidth]);
    }
    return result;
  }

  // dQ, dK and dV, one behind the other.
  Rows gradients(const Rows& output, const Rows& output_gradient) const {
    Rows probabilities = weights_;
    Rows scores = product(output_gradient, value_, kLength, false, true);
    for (std::size_t at = 0; at < scores.size(); ++at) {
      const std::size_t row = at / kLength;
      probabilities[at] /= sums_[row];
      scores[at] = probabilities[at] * (scores[at] - row_product(output, output_gradient, row));
    }
    const Rows rounded_scores = each_rounded(scores);
    Rows result = each_rounded(product(rounded_scores, key_, kWidth), scale_);
    const Rows of_key = each_rounded(product(rounded_scores, query_, kWidth, true), scale_);
    const Rows of_value = each_rounded(product(each_rounded(probabilities), output_gradient, kWidth, true));
    result.insert(result.end(), of_key.begin(), of_key.end());
    result.insert(result.end(), of_value.begin(), of_value.end());
    return result;
  }

 private:
  static Rows each_rounded(Rows of, double factor = 1) {
    for (double& number : of) {
      number = rounded<Storage>(factor * number);
    }
    return of;
  }
  static double row_product(const Rows& left, const Rows& right, std::size_t row) {
    double sum = 0;
    for (std::size_t at = row * kWidth; at < (row + 1) * kWidth; ++at) {
      sum += left[at] * right[at];
    }
    return sum;
  }

  Rows query_;
  Rows key_;
  Rows value_;
  double scale_;
  Rows weights_;
  Rows sums_;
};

double distance(const Rows& found, const Rows& exact, std::size_t begin, std::size_t end) {
  double squares = 0;
  for (std::size_t at = begin; at < end; ++at) {
    squares += (found[at] - exact[at]) * (found[at] - exact[at]);
  }
  return std::sqrt(squares);
}

template <typename Case>
Rows gradients_of(Case& call) {
  Rows result = call.query_gradient.values();
  for (const Rows& more : {call.key_gradient.values(), call.value_gradient.values()}) {
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

// What chance may add to a distance. Outputs of five seeds are at 0.97 to 1.0005 of the model's.
constexpr double kChance = 1.01;
// Kernels of processors round weights before they divide, so that other numbers are rounded: where few weights matter,
// gradients of five seeds are at 0.99 to 1.06. Those of CUDA round what flash does: 1.001.
constexpr double kChanceOfGradients = 1.1;

template <typename Storage>
void expect_no_farther_than_flash(const KernelVariant& variant, DType dtype, double scale) {
  KernelCase<Storage> call(
      {1, 1, 1, kLength, kLength, kWidth, kWidth, {64, 64}}, [](auto, auto, auto) { return 1; }, 5, dtype);
  call.scale = scale;
  variant.use_for(call);
  if (!variant.runs(call)) {
    return;
  }
  Float64Case exact = exact_case(call);
  exact.forward();
  call.forward();
  const FlashRoundings<Storage> flash(call);
  const Rows right = exact.output.values();
  EXPECT_LE(distance(call.output.values(), right, 0, right.size()),
            kChance * distance(flash.output(), right, 0, right.size()))
      << "outputs, scale " << scale;
  copy_values(call.output, exact.output);  // gradients are those of the outputs that were rounded
  exact.backward();
  call.backward();
  const Rows found = gradients_of(call);
  const Rows expected = gradients_of(exact);
  const Rows of_flash = flash.gradients(call.output.values(), call.output_gradient.values());
  const std::size_t part = expected.size() / 3;
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_LE(distance(found, expected, at * part, (at + 1) * part),
              kChanceOfGradients * distance(of_flash, expected, at * part, (at + 1) * part))
        << "gradients of " << (at == 0 ? "queries" : (at == 1 ? "keys" : "values")) << ", scale " << scale;
  }
}

// Weights that are near each other, and weights of which few matter.
constexpr double kScales[] = {0.125, 0.375};

TEST_P(KernelRounding, BFloat16IsNoFartherThanFlash) {
  for (const double scale : kScales) {
    expect_no_farther_than_flash<kernels::BFloat16Storage>(GetParam(), DType::kBFloat16, scale);
  }
}

TEST_P(KernelRounding, Float16IsNoFartherThanFlash) {
  for (const double scale : kScales) {
    expect_no_farther_than_flash<kernels::Float16Storage>(GetParam(), DType::kFloat16, scale);
  }
}

}  // namespace
}  // namespace weft::test
