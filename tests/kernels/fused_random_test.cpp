// SPDX-License-Identifier: Apache-2.0
// Five hundred random calls up to 700 tokens through every kernel that the machine has, against the plain kernel in
// float64. Short lengths are drawn often and long ones seldom; with sanitizers none is above 96.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iterator>

#include "kernels/exact_case.h"
#include "kernels/kernel_variants.h"
#include "support/thread_parallel.h"

namespace weft::test {
namespace {

constexpr std::int64_t kLongest = WEFT_SANITIZED ? 96 : 700;
constexpr std::uint64_t kShardCases = WEFT_SANITIZED ? 10 : 50;
constexpr std::uint64_t kShards = 10;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool one_in(std::int64_t count) { return between(1, count) == 1; }
  /// Half of them below an eighth of the longest.
  std::int64_t length() {
    const double share = std::uniform_real_distribution<double>(0, 1)(engine_);
    return 1 + static_cast<std::int64_t>(static_cast<double>(kLongest - 1) * share * share * share);
  }
  std::int64_t head_dim() {
    constexpr std::int64_t kDims[] = {1, 7, 16, 40, 64, 80, 128, 256};
    return kDims[between(0, static_cast<std::int64_t>(std::size(kDims)) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

// Full, causal, window, strided, global with window, scattered; each head may have another.
Multiplicity random_pattern(Draw& draw) {
  const std::int64_t width = draw.between(1, 90);
  const std::int64_t step = draw.between(2, 9);
  const std::int64_t shift = draw.between(0, 1);
  const std::int64_t first = draw.between(0, 5);
  const auto window = [width](std::int64_t query, std::int64_t key) { return std::abs(query - key) < width; };
  return [=](std::int64_t head, std::int64_t query, std::int64_t key) {
    switch ((first + head * shift) % 6) {
      case 0:
        return 1;
      case 1:
        return key <= query ? 1 : 0;
      case 2:
        return window(query, key) && key <= query ? 1 : 0;
      case 3:
        return query % step == key % step && query % 11 != 5 ? 1 : 0;
      case 4:
        return window(query, key) || key < step || query < step ? 1 : 0;
      default:
        return static_cast<int>((query * 7 + key * 3) % step) - 1 > 0 ? 1 + static_cast<int>(key % 3) : 0;
    }
  };
}

Shape drawn_shape(Draw& draw) {
  Shape shape{draw.one_in(4) ? 2 : 1, 0, draw.between(1, 2), draw.length(), draw.length(), draw.head_dim(), 0};
  shape.heads = shape.key_heads * (draw.one_in(3) ? 2 : 1);
  shape.value_dim = draw.one_in(3) ? draw.head_dim() : shape.head_dim;
  constexpr std::int32_t kQueryTiles[] = {64, 64, 64, 64, 1, 17, 48};
  shape.tile = {kQueryTiles[draw.between(0, 6)], 64};
  return shape;
}

Float32Case drawn_case(std::uint64_t seed) {
  Draw draw(seed);
  const Shape shape = drawn_shape(draw);
  Float32Case result(shape, random_pattern(draw), seed, kernels::DType::kFloat32);
  result.scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
  if (draw.one_in(3)) {
    for (std::int64_t position = 0; position < shape.batch * shape.key_length; ++position) {
      result.keep.push_back(draw.one_in(4) ? 0 : 1);
    }
  }
  if (draw.one_in(5)) {
    result.dropout = {0.2F, seed, 1};
  }
  for (std::int64_t slope = draw.one_in(4) ? draw.between(1, 3) * shape.heads : 0; slope > 0; --slope) {
    result.slopes.push_back(0.01F * static_cast<float>(draw.between(0, 30)));
  }
  if (result.slopes.empty() && draw.one_in(4)) {
    result.draw_distances(seed);
    result.query_offset = draw.between(-40, 40);
  }
  if (draw.one_in(4)) {
    result.draw_positions(seed);
  }
  if (draw.one_in(3)) {
    result.draw_relative(seed);
    result.scale *= 0.7;  // scores of two products
  }
  return result;
}

double largest_bias(const Float32Case& call) {
  double slope = 0;
  for (const float each : call.slopes) {
    slope = std::max(slope, static_cast<double>(each));
  }
  return slope * static_cast<double>(std::max(call.shape.query_length, call.shape.key_length));
}

class FusedRandom : public ::testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Shard, FusedRandom, ::testing::Range(std::uint64_t{0}, kShards));

TEST_P(FusedRandom, EveryKernelEqualsFloat64) {
  for (std::uint64_t at = 0; at < kShardCases; ++at) {
    const std::uint64_t seed = 1000 + GetParam() * kShardCases + at;
    Float32Case call = drawn_case(seed);
    Float64Case exact = exact_case(call);
    exact.forward();
    const std::vector<double> outputs = exact.output.values();
    // Every backward pass is given the same outputs, rounded as they are stored.
    exact.output.visit([](double& entry) { entry = static_cast<double>(static_cast<float>(entry)); });
    exact.backward();
    for (const KernelVariant& variant : kernel_variants()) {
      const bool knows_call = variant.knows_relative || call.relative_span == 0;
      if (variant.is_plain() || !kernels::is_available(variant.isa) || !knows_call || !variant.runs(call) ||
          (variant.is_slow && seed % 5 != 3)) {
        continue;
      }
      SCOPED_TRACE(::testing::Message() << variant << ", seed " << seed << ", largest bias " << largest_bias(call));
      const ParallelFor& threads = seed % 5 == 0 ? kThreadParallel<3> : kSerial;
      variant.use_for(call);
      call.forward(threads);
      // Scores of N(0, 1) are below 8; where a bias makes them greater, each is off by so much more. Of few edges each
      // has a greater share.
      const double greater = 1 + largest_bias(call) / 8;
      expect_near(call.output.values(), outputs, 3e-6 * greater);
      expect_log_sum_exp(call, exact, 4e-6 * greater);
      copy_values(exact.output, call.output);
      call.backward(threads);
      expect_gradients(call, exact, 1e-5 * greater);
    }
  }
}

}  // namespace
}  // namespace weft::test
