// SPDX-License-Identifier: Apache-2.0
// Norms of rows in every instruction set of this machine against their equations in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "weft/kernels/norm/row_norm.h"
#include "weft/kernels/storage.h"

namespace weft::test {
namespace {

using kernels::RowNorm;

template <class Storage>
class NormCase {
 public:
  using Memory = typename Storage::Memory;

  NormCase(std::int64_t rows, std::int64_t width, bool is_root, std::uint64_t seed = 5) : engine_(seed) {
    call.dtype = sizeof(Memory) == 2 ? kernels::DType::kBFloat16 : kernels::DType::kFloat32;
    call.is_root = is_root;
    call.rows = rows;
    call.width = width;
    call.epsilon = 1e-5F;
    const auto count = static_cast<std::size_t>(rows * width);
    x = numbers(count, 3.0F);  // a mean far from 0
    added = numbers(count, 0.5F);
    weight = numbers(static_cast<std::size_t>(width), 1.0F);
    bias = numbers(static_cast<std::size_t>(width), 0.0F);
    output.resize(count);
  }

  /// With or without what is added and the bias; the result in `output`.
  void run(kernels::InstructionSet isa, bool with_added, bool with_bias) {
    call.x = x.data();
    call.added = with_added ? added.data() : nullptr;
    call.weight = weight.data();
    call.bias = with_bias ? bias.data() : nullptr;
    call.output = output.data();
    kernels::norm_rows(isa, call);
  }

  struct Expected {
    double value;
    double terms;  ///< the sum of their sizes
  };
  Expected expected(std::size_t at) const {
    const auto width = static_cast<std::size_t>(call.width);
    const std::size_t first = at / width * width;
    double mean = 0;
    double square = 0;
    for (std::size_t i = first; i < first + width; ++i) {
      mean += call.is_root ? 0.0 : value(i) / static_cast<double>(width);
    }
    for (std::size_t i = first; i < first + width; ++i) {
      square += (value(i) - mean) * (value(i) - mean) / static_cast<double>(width);
    }
    const double normal = (value(at) - mean) / std::sqrt(square + call.epsilon);
    const double shift = call.bias == nullptr ? 0.0 : of(bias[at - first]);
    const double scaled = normal * of(weight[at - first]);
    return {scaled + shift, std::abs(scaled) + std::abs(shift)};
  }

  static double of(const Memory& number) { return static_cast<double>(Storage::load(&number)); }

  RowNorm call;
  std::vector<Memory> x;
  std::vector<Memory> added;
  std::vector<Memory> weight;
  std::vector<Memory> bias;
  std::vector<Memory> output;

 private:
  // What the norm is of: a sum is rounded to the dtype.
  double value(std::size_t at) const {
    if (call.added == nullptr) {
      return of(x[at]);
    }
    Memory sum;
    Storage::store(&sum, Storage::load(&x[at]) + Storage::load(&added[at]));
    return of(sum);
  }

  std::vector<Memory> numbers(std::size_t count, float mean) {
    std::normal_distribution<float> normal(mean);
    std::vector<Memory> made(count);
    for (Memory& number : made) {
      Storage::store(&number, normal(engine_));
    }
    return made;
  }

  std::mt19937_64 engine_;
};

/// float32: some roundings of the terms, and of x, of which the mean is taken. bfloat16: the last rounding, and that of
/// a root norm before the weight, each of half a part in 128.
template <class Storage>
double norm_bound(double terms) {
  return (sizeof(typename Storage::Memory) == 2 ? 1.0 / 128 : 4e-6) * std::max(1.0, terms);
}

template <class Storage>
void expect_norms(kernels::InstructionSet isa) {
  for (const std::int64_t width : {1, 7, 16, 40, 774}) {
    for (int what = 0; what < 8; ++what) {
      NormCase<Storage> made(2, width, (what & 1) != 0);
      made.run(isa, (what & 2) != 0, (what & 4) != 0);
      for (std::size_t at = 0; at < made.output.size(); ++at) {
        const auto right = made.expected(at);
        ASSERT_NEAR(made.of(made.output[at]), right.value, norm_bound<Storage>(right.terms))
            << kernels::to_string(isa) << ", width " << width << ", call " << what << ", number " << at;
      }
    }
  }
}

template <typename Work>
void for_each_set(const Work& work) {
  for (const kernels::InstructionSet isa : kernels::kInstructionSets) {
    if (kernels::is_available(isa) && kernels::norms_rows(isa, kernels::DType::kFloat32, 40)) {
      work(isa);
    }
  }
}

TEST(RowNorms, EqualTheirEquations) {
  for_each_set([](kernels::InstructionSet isa) {
    expect_norms<kernels::PlainStorage<float>>(isa);
    expect_norms<kernels::BFloat16Storage>(isa);
  });
}

TEST(RowNorms, WriteOverWhatTheyRead) {
  for_each_set([](kernels::InstructionSet isa) {
    NormCase<kernels::PlainStorage<float>> made(4, 70, false);
    made.run(isa, true, true);
    const std::vector<float> right = made.output;
    made.call.output = made.added.data();
    kernels::norm_rows(isa, made.call);
    EXPECT_EQ(made.added, right);
  });
}

TEST(RowNorms, SpoilTheirOwnRowOnly) {
  for_each_set([](kernels::InstructionSet isa) {
    for (const bool is_root : {false, true}) {
      NormCase<kernels::PlainStorage<float>> made(3, 40, is_root);
      made.x[41] = std::numeric_limits<float>::quiet_NaN();
      made.run(isa, true, true);
      for (std::size_t at = 0; at < made.output.size(); ++at) {
        EXPECT_EQ(std::isnan(made.output[at]), at / 40 == 1) << at;
      }
    }
  });
}

TEST(RowNorms, OfInfinityAreNaN) {
  for_each_set([](kernels::InstructionSet isa) {
    for (const bool is_root : {false, true}) {
      NormCase<kernels::PlainStorage<float>> made(3, 40, is_root);
      made.x[41] = std::numeric_limits<float>::infinity();
      made.run(isa, true, true);
      for (std::size_t at = 0; at < made.output.size(); ++at) {
        EXPECT_EQ(std::isnan(made.output[at]), is_root ? at == 41 : at / 40 == 1) << at;
        if (is_root && at / 40 == 1 && at != 41) {
          EXPECT_EQ(made.output[at], made.bias[at - 40]);
        }
      }
    }
  });
}

TEST(RowNorms, TakeFloat32AndBFloat16WithVectors) {
  EXPECT_FALSE(kernels::norms_rows(kernels::InstructionSet::kScalar, kernels::DType::kFloat32, 40));
  EXPECT_FALSE(kernels::norms_rows(kernels::InstructionSet::kGeneric, kernels::DType::kFloat64, 40));
  EXPECT_FALSE(kernels::norms_rows(kernels::InstructionSet::kGeneric, kernels::DType::kFloat16, 40));
  EXPECT_TRUE(kernels::norms_rows(kernels::InstructionSet::kGeneric, kernels::DType::kBFloat16, 8192));
  EXPECT_FALSE(kernels::norms_rows(kernels::InstructionSet::kGeneric, kernels::DType::kBFloat16, 8193));
}

}  // namespace
}  // namespace weft::test
