// SPDX-License-Identifier: Apache-2.0
// The exponential of the fused kernels in the lanes of each instruction set: its error, and both of its ends.
#include "weft/kernels/fused/exponential.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/exponentials.h"
#include "weft/kernels/fused.h"
#include "weft/kernels/isa/generic.h"

namespace weft::test {
namespace {

using kernels::InstructionSet;
using Lanes = std::array<float, 16>;

constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

void exponentials_generic(const float* x, float* to) {
  for (int i = 0; i < 16; i += kernels::Generic::kLanes) {
    kernels::Generic::store(to + i, kernels::exponential<kernels::Generic>(kernels::Generic::load(x + i)));
  }
}

struct ExponentialOf {
  const char* name;
  InstructionSet isa;
  Exponentials compute;

  Lanes operator()(const Lanes& x) const {
    Lanes result{};
    compute(x.data(), result.data());
    return result;
  }
};

// Those that this processor has.
std::vector<ExponentialOf> all_exponentials() {
  std::vector<ExponentialOf> all = {{"generic", InstructionSet::kGeneric, exponentials_generic}};
#if defined(__x86_64__)
  for (const ExponentialOf& one : {ExponentialOf{"avx2", InstructionSet::kAvx2, exponentials_avx2},
                                   ExponentialOf{"avx512", InstructionSet::kAvx512, exponentials_avx512}}) {
    if (kernels::is_available(one.isa)) {
      all.push_back(one);
    }
  }
#endif
  return all;
}

TEST(Exponential, IsGoodToTwoUlps) {
  for (const ExponentialOf& exponential : all_exponentials()) {
    for (int step = 0; step < 12790; step += 16) {
      Lanes x{};
      for (std::size_t lane = 0; lane < x.size(); ++lane) {
        x[lane] = -87.3F + 0.0137F * (static_cast<float>(step) + static_cast<float>(lane));  // to 88.1
      }
      const Lanes found = exponential(x);
      for (std::size_t lane = 0; lane < x.size(); ++lane) {
        const double exact = std::exp(static_cast<double>(x[lane]));
        ASSERT_NEAR(found[lane], exact, exact * 2.4e-7) << exponential.name << ' ' << x[lane];
      }
    }
  }
}

// Each lane has an end of its own, so that none decides for its neighbours.
TEST(Exponential, EndsAtZeroAndKeepsNaN) {
  const Lanes x = {-kEndless, kNone,   -1e30F, 0.0F,  -100.0F,   -kLargest, -87.34F, 1.0F,
                   -0.0F,     -1e-40F, -88.0F, 88.7F, -kEndless, 1e-38F,    -kNone,  -103.9F};
  for (const ExponentialOf& exponential : all_exponentials()) {
    const Lanes found = exponential(x);
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      const auto what = [&] { return testing::Message() << exponential.name << " of " << x[lane]; };
      if (std::isnan(x[lane])) {
        EXPECT_TRUE(std::isnan(found[lane])) << what() << " is " << found[lane];
      } else if (x[lane] < -87.33F) {
        EXPECT_EQ(found[lane], 0.0F) << what();
        EXPECT_FALSE(std::signbit(found[lane])) << what();
      } else {
        EXPECT_NEAR(found[lane] / std::exp(static_cast<double>(x[lane])), 1.0, 2.4e-7) << what();
      }
    }
    EXPECT_EQ(found[3], 1.0F) << exponential.name;
    EXPECT_EQ(found[8], 1.0F) << exponential.name;
  }
}

// The last numbers before 0 are normal ones, and the last finite ones are not larger than a float holds.
TEST(Exponential, HasNoStepAtEitherEnd) {
  for (const ExponentialOf& exponential : all_exponentials()) {
    float low = -87.33F;
    float high = 88.72F;
    for (int step = 0; step < 200; ++step) {
      const Lanes lows = exponential({low});
      EXPECT_GE(lows[0], std::numeric_limits<float>::min()) << exponential.name << ' ' << low;
      EXPECT_NEAR(lows[0] / std::exp(static_cast<double>(low)), 1.0, 2.4e-7) << exponential.name << ' ' << low;
      const Lanes highs = exponential({high});
      EXPECT_NEAR(highs[0] / std::exp(static_cast<double>(high)), 1.0, 2.4e-7) << exponential.name << ' ' << high;
      low = std::nextafter(low, 0.0F);
      high = std::nextafter(high, 0.0F);
    }
  }
}

// A sum or a product with it must say that it is no number that counts.
TEST(Exponential, IsNotFiniteWhereItIsTooLarge) {
  for (const ExponentialOf& exponential : all_exponentials()) {
    for (const float x : {88.73F, 88.8F, 89.0F, 100.0F, 1e4F, 1e30F, kLargest, kEndless}) {
      Lanes lanes{};
      lanes.fill(x);
      for (const float found : exponential(lanes)) {
        EXPECT_FALSE(std::isfinite(found)) << exponential.name << ' ' << x;
      }
    }
  }
}

#if defined(__x86_64__)

class ShortExponential : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kernels::is_available(InstructionSet::kAvx512)) {
      GTEST_SKIP() << "this machine has no avx512";
    }
  }
};

TEST_F(ShortExponential, IsFarBetterThanBFloat16) {
  Lanes found{};
  for (int step = 0; step < 12790; step += 16) {
    Lanes x{};
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      x[lane] = -87.3F + 0.0137F * (static_cast<float>(step) + static_cast<float>(lane));  // to 88.1
    }
    short_exponentials_avx512(x.data(), found.data());
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      const double exact = std::exp(static_cast<double>(x[lane]));
      ASSERT_NEAR(found[lane], exact, exact * 1e-5) << x[lane];
    }
  }
}

TEST_F(ShortExponential, EndsAtZeroAndKeepsNaN) {
  const Lanes x = {-kEndless, kNone,   -1e30F, 0.0F,  -100.0F,   -kLargest, -87.34F, -1e-7F,
                   -0.0F,     -1e-40F, -88.0F, 88.7F, -kEndless, 1e-38F,    -kNone,  -103.9F};
  Lanes found{};
  short_exponentials_avx512(x.data(), found.data());
  for (std::size_t lane = 0; lane < x.size(); ++lane) {
    if (std::isnan(x[lane])) {
      EXPECT_TRUE(std::isnan(found[lane])) << lane << " is " << found[lane];
    } else {
      const double exact = x[lane] < -87.33F ? 0.0 : std::exp(static_cast<double>(x[lane]));
      EXPECT_NEAR(found[lane], exact, 1e-5 * exact) << x[lane];
      EXPECT_FALSE(std::signbit(found[lane])) << x[lane];
    }
  }
  EXPECT_EQ(found[0], 0.0F);
  EXPECT_EQ(found[3], 1.0F);
  EXPECT_EQ(found[8], 1.0F);
}

TEST_F(ShortExponential, IsNotFiniteWhereItIsTooLarge) {
  for (const float x : {88.73F, 89.0F, 100.0F, 1e30F, kLargest, kEndless}) {
    Lanes lanes{};
    Lanes found{};
    lanes.fill(x);
    short_exponentials_avx512(lanes.data(), found.data());
    EXPECT_FALSE(std::isfinite(found[0])) << x;
  }
}

#endif

}  // namespace
}  // namespace weft::test
