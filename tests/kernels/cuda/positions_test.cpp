// SPDX-License-Identifier: Apache-2.0
// Positions of rows in the CUDA kernels: the bits that hide what a query does not see, entry by entry, and calls with
// padding, shared keys, short tiles and lengths that fill no block, forwards, backwards, and of one query.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cuda/emulated_call.h"
#include "kernels/cuda/emulated_lanes.h"
#include "kernels/exact_case.h"
#include "weft/kernels/cuda/row_edges.h"

namespace weft::test {
namespace {

using kernels::DType;

int sees_every_key(std::int64_t, std::int64_t, std::int64_t) { return 1; }

// Which terms a call with positions has.
struct Sight {
  bool causal;
  bool not_self;
  bool has_first;
};
constexpr Sight kSights[] = {{true, true, false}, {true, false, true}, {false, true, true}, {false, false, false}};

template <typename Case>
Case positioned_case(const Shape& shape, const Multiplicity& edges, const Sight& sight, DType dtype) {
  Case call(shape, edges, 3, dtype);
  call.scale = 0.3;
  call.draw_positions(5);
  call.causal = sight.causal;
  call.not_self = sight.not_self;
  call.first_positions.clear();
  for (std::size_t row = 0; sight.has_first && row < call.query_positions.size(); ++row) {
    call.first_positions.push_back(call.query_positions[row] - static_cast<std::int32_t>(row % 40));
  }
  return call;
}

// The words of a block in the middle of nothing: rows behind the last one exist on neither side.
template <bool kOwnsQueries, int kThreads>
void expect_edges(Float32Case& of, const kernels::cuda::Met& met, int first_row) {
  using Lanes = EmulatedLanes<kThreads>;
  kernels::cuda::DeviceCall call;
  call.attention = of.arguments();
  const kernels::cuda::Place at{0, 1, 4, 0, 0};
  Lanes lanes(0);
  kernels::cuda::RowEdges<Lanes> found;
  kernels::cuda::find_edges<kOwnsQueries, true>(lanes, call, at, met, first_row, found);
  for (int entry = 0; entry < kThreads * 128; ++entry) {
    const int thread = entry / 128;
    const int row = entry / 64 % 2;
    const int other = entry % 64;
    const int own = first_row + kernels::cuda::own_row(thread) + 8 * row;
    const kernels::cuda::Pair pair = kernels::cuda::pair_of<kOwnsQueries>(met, own, other);
    const bool is_stored = ((met.own_there >> own) & (met.there >> other) & (met.bits[own] >> other) & 1) != 0;
    const bool is_edge = is_stored && of.is_in_sight(1, 4, pair.query, pair.key);
    ASSERT_EQ((found.words[thread].at[row] >> other) & 1, is_edge ? 1 : 0) << thread << ' ' << row << ' ' << other;
    const int column = other % 8 - kernels::cuda::own_column(thread);
    if (is_edge && (column == 0 || column == 1)) {
      const bool is_self =
          of.not_self && of.position_of(1, 4, pair.key) == of.query_positions[of.query_at(1, 4, pair.query)];
      ASSERT_EQ((found.selves[thread] >> (other / 8 * 4 + row * 2 + column)) & 1, is_self ? 1 : 0)
          << thread << ' ' << other;
    }
  }
}

/// A word a row, three quarters of whose bits are edges.
std::vector<std::uint64_t> random_bits_of_block(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<std::uint64_t> bits(64);
  for (std::uint64_t& word : bits) {
    word = engine() | engine();
  }
  return bits;
}

TEST(CudaPositions, TheBitsAreThoseOfTheDefinition) {
  const std::vector<std::uint64_t> bits = random_bits_of_block(1);
  for (const Sight& sight : kSights) {
    auto call =
        positioned_case<Float32Case>({2, 6, 2, 100, 150, 4, 4, {64, 64}}, sees_every_key, sight, DType::kFloat32);
    constexpr std::uint64_t kQueries = (std::uint64_t{1} << 36) - 1;
    constexpr std::uint64_t kKeys = ((std::uint64_t{1} << 22) - 1) & ~std::uint64_t{0x30};
    expect_edges<true, 128>(call, {64, 128, kKeys, kQueries, bits.data()}, 0);
    expect_edges<true, 64>(call, {0, 64, ~std::uint64_t{0}, ~std::uint64_t{0}, bits.data()}, 32);
    expect_edges<false, 128>(call, {64, 128, kQueries, kKeys, bits.data()}, 0);
    expect_edges<false, 64>(call, {0, 64, ~std::uint64_t{0}, ~std::uint64_t{0}, bits.data()}, 32);
  }
}

// Of 150 keys some are padding, among them the last and a whole block.
template <typename Case>
void expect_positions(const Shape& shape, DType dtype, const Bounds& bounds) {
  for (const kernels::FusedKernels* kernels : {&kEmulatedCudaKernels, &kEmulatedHopperKernels}) {
    for (const Sight& sight : kSights) {
      SCOPED_TRACE(testing::Message() << sight.causal << sight.not_self << sight.has_first);
      Case call = positioned_case<Case>(shape, mixed_edges, sight, dtype);
      call.own = kernels;
      for (std::int64_t key = 0; key < shape.batch * shape.key_length; ++key) {
        call.keep.push_back(key % 7 == 3 || key % shape.key_length == shape.key_length - 1 || key < 64 ? 0 : 1);
      }
      expect_agreement(call, bounds);
    }
  }
}

TEST(CudaPositions, PaddingSharedKeysAndRaggedLengthsBothWays) {
  expect_positions<Float32Case>({2, 6, 2, 100, 150, 20, 12, {64, 64}}, DType::kFloat32, {2e-6, 1e-5});
  expect_positions<BFloat16Case>({1, 3, 1, 100, 150, 61, 61, {64, 64}}, DType::kBFloat16, {1.0 / 128, 1.0 / 50});
  expect_positions<Float16Case>({1, 2, 2, 75, 130, 61, 13, {17, 64}}, DType::kFloat16, {1.0 / 1024, 1.0 / 400});
}

TEST(CudaPositions, OneQuery) {
  for (const std::int64_t queries : {1, 3}) {  // of three each is a block by itself
    const std::int32_t tile = queries == 1 ? 64 : 1;
    expect_positions<Float32Case>({2, 6, 2, queries, 350, 20, 12, {tile, 64}}, DType::kFloat32, {2e-6, 1e-5});
    expect_positions<BFloat16Case>({1, 3, 1, queries, 350, 61, 61, {tile, 64}}, DType::kBFloat16,
                                   {1.0 / 128, 1.0 / 50});
  }
}

// Rows and columns in parts, with dropout and a distance table beside positions.
TEST(CudaPositions, PartsThatAreJoined) {
  for (const Sight& sight : kSights) {
    auto call =
        positioned_case<Float32Case>({1, 4, 2, 140, 330, 20, 12, {64, 64}}, sees_every_key, sight, DType::kFloat32);
    call.own = &kEmulatedCudaKernels;
    call.dropout = {0.2F, 5, 1};
    call.draw_distances(2);
    call.asks_distance_gradient = true;
    cut_emulated_parts(2);
    expect_agreement(call, {2e-6, 1e-5});
    cut_emulated_parts(kernels::cuda::kLongestPart);
  }
}

}  // namespace
}  // namespace weft::test
