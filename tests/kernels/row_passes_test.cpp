// SPDX-License-Identifier: Apache-2.0
// Losses of rows, sums of columns and GELU in every instruction set of this machine against their equations in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "weft/kernels/elements/gelu.h"
#include "weft/kernels/elements/sums.h"
#include "weft/kernels/loss/score_loss.h"
#include "weft/kernels/storage.h"

namespace weft::test {
namespace {

using Floats = kernels::PlainStorage<float>;
using Halves = kernels::BFloat16Storage;

template <class Storage>
constexpr kernels::DType kDTypeOf =
    sizeof(typename Storage::Memory) == 2 ? kernels::DType::kBFloat16 : kernels::DType::kFloat32;

/// Half a unit in the last place of a result of size 1, and for float32 some roundings before it.
template <class Storage>
constexpr double kRounding = sizeof(typename Storage::Memory) == 2 ? 1.0 / 256 : 2e-6;

template <class Storage>
using Numbers = std::vector<typename Storage::Memory>;

template <class Storage>
Numbers<Storage> stored_numbers(std::int64_t count, float deviation, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  Numbers<Storage> made(static_cast<std::size_t>(count));
  for (auto& number : made) {
    Storage::store(&number, normal(engine));
  }
  return made;
}

template <class Storage>
double number(const Numbers<Storage>& numbers, std::int64_t at) {
  return static_cast<double>(Storage::load(&numbers[static_cast<std::size_t>(at)]));
}

template <typename Work>
void with_each_set(const Work& work) {
  for (const kernels::InstructionSet isa : kernels::kInstructionSets) {
    if (kernels::is_available(isa) && kernels::sums_numbers(isa, kernels::DType::kFloat32)) {
      work(isa);
    }
  }
}

template <class Storage>
struct LossCase {
  static constexpr std::int64_t kRows = 3;

  LossCase(std::int64_t count, float deviation, float smooth, bool has_bias)
      : ids(count),
        scores(stored_numbers<Storage>(kRows * count, deviation, 7)),
        bias(stored_numbers<Floats>(count, 1.0F, 8)),
        labels{0, count - 1, count / 2},
        losses(kRows),
        smoothing(smooth),
        with_bias(has_bias) {}

  void run(kernels::InstructionSet isa, bool gathers) {
    kernels::score_loss(isa, {.dtype = kDTypeOf<Storage>,
                              .scores = scores.data(),
                              .bias = with_bias ? bias.data() : nullptr,
                              .labels = labels.data(),
                              .losses = losses.data(),
                              .rows = kRows,
                              .ids = ids,
                              .stride = ids,
                              .smoothing = smoothing,
                              .scale = 0.5F,
                              .gathers = gathers});
  }

  double logit(std::int64_t row, std::int64_t id) const {
    return number<Storage>(scores, row * ids + id) + (with_bias ? number<Floats>(bias, id) : 0.0);
  }
  double log_sum(std::int64_t row) const {
    double sum = 0;
    for (std::int64_t id = 0; id < ids; ++id) {
      sum += std::exp(logit(row, id));
    }
    return std::log(sum);
  }
  double target(std::int64_t row, std::int64_t id) const {
    const double spread = smoothing / static_cast<double>(ids);
    return spread + (id == labels[static_cast<std::size_t>(row)] ? 1.0 - smoothing : 0.0);
  }

  std::int64_t ids;
  Numbers<Storage> scores;
  Numbers<Floats> bias;
  std::vector<std::int64_t> labels;
  std::vector<float> losses;
  float smoothing;
  bool with_bias;
};

template <class Storage>
void expect_losses(kernels::InstructionSet isa, const LossCase<Storage>& call) {
  LossCase<Storage> made = call;
  made.run(isa, true);
  LossCase<Storage> loss_alone = call;
  loss_alone.run(isa, false);
  EXPECT_EQ(loss_alone.scores, call.scores);
  EXPECT_EQ(loss_alone.losses, made.losses);
  for (std::int64_t row = 0; row < call.kRows; ++row) {
    const double log_sum = call.log_sum(row);
    double loss = log_sum;
    for (std::int64_t id = 0; id < call.ids; ++id) {
      loss -= call.target(row, id) * call.logit(row, id);
      const double probability = std::exp(call.logit(row, id) - log_sum);
      const double gradient = (probability - call.target(row, id)) * 0.5;
      // The last rounding, and the probability's own error, which is one of float32.
      const double bound = kRounding<Storage> * std::abs(gradient) + 1e-6 * probability + 1e-9;
      ASSERT_NEAR(number<Storage>(made.scores, row * call.ids + id), gradient, bound)
          << kernels::to_string(isa) << ", " << call.ids << " ids, row " << row << ", id " << id;
    }
    // float32 logits, and a float32 result.
    EXPECT_NEAR(made.losses[static_cast<std::size_t>(row)], loss, 2e-6 * std::max(1.0, std::abs(loss) + log_sum))
        << kernels::to_string(isa) << ", " << call.ids << " ids";
  }
}

template <class Storage>
void expect_losses_of_all(kernels::InstructionSet isa) {
  for (const std::int64_t ids : {1, 2, 15, 16, 17, 1000, 1024, 1025, 3001}) {
    for (const float smoothing : {0.0F, 0.1F}) {
      for (const bool has_bias : {false, true}) {
        expect_losses(isa, LossCase<Storage>(ids, 2.0F, smoothing, has_bias));
      }
    }
  }
}

TEST(RowPasses, LossesEqualTheirEquations) {
  with_each_set([](kernels::InstructionSet isa) {
    expect_losses_of_all<Floats>(isa);
    expect_losses_of_all<Halves>(isa);
  });
}

TEST(RowPasses, LossesOfFarScoresDoNotOverflow) {
  with_each_set([](kernels::InstructionSet isa) {
    LossCase<Floats> made(2050, 1.0F, 0.0F, false);
    made.scores[5] = 1e4F;
    made.scores[1030] = 2e4F;  // in a later block, so that what was summed before is rescaled
    made.scores[2050 + 3] = -std::numeric_limits<float>::infinity();
    const float label = made.scores[0];
    made.run(isa, true);
    EXPECT_FLOAT_EQ(made.losses[0], 2e4F - label);
    EXPECT_EQ(made.scores[1030], 0.5F);
    EXPECT_EQ(made.scores[0], -0.5F);
    EXPECT_EQ(made.scores[5], 0.0F);
    EXPECT_TRUE(std::isfinite(made.losses[1]));
    EXPECT_EQ(made.scores[2050 + 3], 0.0F);
  });
}

TEST(RowPasses, LossesOfNaNAreNaNInTheirRowOnly) {
  with_each_set([](kernels::InstructionSet isa) {
    LossCase<Floats> made(40, 1.0F, 0.0F, true);
    made.scores[57] = std::numeric_limits<float>::quiet_NaN();
    made.run(isa, true);
    EXPECT_TRUE(std::isfinite(made.losses[0]));
    EXPECT_TRUE(std::isnan(made.losses[1]));
    EXPECT_TRUE(std::isfinite(made.losses[2]));
  });
}

template <class Storage>
void expect_column_sums(kernels::InstructionSet isa, std::int64_t rows, std::int64_t columns) {
  const auto x = stored_numbers<Storage>(rows * columns, 1.0F, 3);
  std::vector<float> sums(static_cast<std::size_t>(columns), -1.0F);
  kernels::sum_columns(isa, {.dtype = kDTypeOf<Storage>,
                             .x = x.data(),
                             .sums = sums.data(),
                             .rows = rows,
                             .columns = columns,
                             .stride = columns});
  for (std::int64_t column = 0; column < columns; ++column) {
    double sum = 0;
    double sizes = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      sum += number<Storage>(x, row * columns + column);
      sizes += std::abs(number<Storage>(x, row * columns + column));
    }
    ASSERT_NEAR(number<Floats>(sums, column), sum, 2e-6 * sizes) << kernels::to_string(isa) << ", column " << column;
  }
}

TEST(RowPasses, SumsOfColumnsEqualTheirSums) {
  with_each_set([](kernels::InstructionSet isa) {
    for (const std::int64_t columns : {1, 16, 33, 1030}) {
      for (const std::int64_t rows : {0, 1, 64, 129}) {
        expect_column_sums<Floats>(isa, rows, columns);
        expect_column_sums<Halves>(isa, rows, columns);
      }
    }
  });
}

TEST(RowPasses, AccumulationIsAdditionInFloat32) {
  with_each_set([](kernels::InstructionSet isa) {
    const auto part = stored_numbers<Halves>(37, 1.0F, 4);
    std::vector<float> total(37, std::numeric_limits<float>::quiet_NaN());
    kernels::Accumulation call{
        .dtype = kernels::DType::kBFloat16, .part = part.data(), .total = total.data(), .count = 37, .is_first = true};
    kernels::accumulate(isa, call);
    call.is_first = false;
    kernels::accumulate(isa, call);
    for (std::int64_t at = 0; at < 37; ++at) {
      EXPECT_EQ(number<Floats>(total, at), 2 * number<Halves>(part, at));
    }
  });
}

double gelu_of(double x) { return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x))); }

template <class Storage>
void expect_gelu(kernels::InstructionSet isa) {
  constexpr std::int64_t kCount = 1001;
  const auto x = stored_numbers<Storage>(kCount, 3.0F, 5);
  const auto gradient = stored_numbers<Storage>(kCount, 1.0F, 6);
  Numbers<Storage> forward(kCount);
  Numbers<Storage> backward(kCount);
  kernels::Gelu call{.dtype = kDTypeOf<Storage>, .x = x.data(), .output = forward.data(), .count = kCount};
  kernels::apply_gelu(isa, call);
  call.gradient = gradient.data();
  call.output = backward.data();
  kernels::apply_gelu(isa, call);
  for (std::int64_t at = 0; at < kCount; ++at) {
    const double value = number<Storage>(x, at);
    const double right = gelu_of(value);
    ASSERT_NEAR(number<Storage>(forward, at), right, kRounding<Storage> * std::max(1.0, std::abs(right))) << value;
    // A central difference in float64 is right to 1e-9.
    const double slope = (gelu_of(value + 1e-5) - gelu_of(value - 1e-5)) / 2e-5 * number<Storage>(gradient, at);
    ASSERT_NEAR(number<Storage>(backward, at), slope, kRounding<Storage> * std::max(1.0, std::abs(slope))) << value;
  }
}

TEST(RowPasses, GeluEqualsItsEquation) {
  with_each_set([](kernels::InstructionSet isa) {
    expect_gelu<Floats>(isa);
    expect_gelu<Halves>(isa);
  });
}

TEST(RowPasses, GeluOfFarNumbers) {
  with_each_set([](kernels::InstructionSet isa) {
    std::vector<float> x{1e4F, -1e4F, -50.0F, 0.0F, std::numeric_limits<float>::quiet_NaN()};
    kernels::Gelu call{.x = x.data(), .output = x.data(), .count = 5};
    kernels::apply_gelu(isa, call);
    EXPECT_EQ(x[0], 1e4F);
    EXPECT_NEAR(x[1], 0.0F, 1e-30);
    EXPECT_NEAR(x[2], 0.0F, 1e-30);
    EXPECT_EQ(x[3], 0.0F);
    EXPECT_TRUE(std::isnan(x[4]));
  });
}

TEST(RowPasses, TakeFloat32AndBFloat16WithVectors) {
  EXPECT_FALSE(kernels::takes_scores(kernels::InstructionSet::kScalar, kernels::DType::kFloat32));
  EXPECT_FALSE(kernels::takes_gelu(kernels::InstructionSet::kGeneric, kernels::DType::kFloat64));
  EXPECT_FALSE(kernels::sums_numbers(kernels::InstructionSet::kGeneric, kernels::DType::kFloat16));
  EXPECT_TRUE(kernels::takes_scores(kernels::InstructionSet::kGeneric, kernels::DType::kBFloat16));
}

}  // namespace
}  // namespace weft::test
