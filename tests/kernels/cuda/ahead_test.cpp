// SPDX-License-Identifier: Apache-2.0
// The passes that multiply slices of shared memory, on lanes that have such products: calls without terms but
// dropout, which are the only ones that take that way; backwards those of narrow heads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cuda/emulated_call.h"
#include "kernels/exact_case.h"

namespace weft::test {
namespace {

using kernels::DType;

template <typename Case>
void expect_ahead(Case call, double bound) {
  Case plain = call;
  Float64Case exact = exact_case(call);
  exact.forward();
  call.own = &kEmulatedHopperKernels;
  call.forward();
  expect_close(call.output, exact.output, bound, bound);
  expect_log_sum_exp(call, exact, 1e-5);
  plain.own = &kEmulatedCudaKernels;
  plain.forward();
  expect_close(call.output, plain.output, bound, bound);
  copy_values(call.output, exact.output);  // the backward pass is given what the forward pass rounded
  exact.backward();
  call.backward();
  expect_gradients(call, exact, bound);
}

template <typename Case>
Case plain_case(const Shape& shape, const Multiplicity& edges, DType dtype) {
  Case call(shape, edges, 3, dtype);
  call.scale = 0.1;
  return call;
}

// One block, two, three: the loop takes two at a time. Query 90 sees nothing.
int seen_edges(std::int64_t, std::int64_t query, std::int64_t key) {
  return query != 90 && (query % 3 == key % 3 || query / 64 == key / 64) ? 1 : 0;
}

TEST(CudaAhead, AllWidthsAndLengths) {
  for (const std::int64_t keys : {1, 64, 70, 190, 200}) {
    expect_ahead(plain_case<BFloat16Case>({1, 2, 1, 100, keys, 61, 61, {64, 64}}, seen_edges, DType::kBFloat16),
                 1.0 / 128);
  }
  for (const std::int64_t width : {1, 64, 125, 253}) {
    expect_ahead(plain_case<BFloat16Case>({1, 1, 1, 70, 140, width, 20, {64, 64}}, seen_edges, DType::kBFloat16),
                 1.0 / 128);
    expect_ahead(plain_case<Float16Case>({1, 1, 1, 70, 140, 61, width, {64, 64}}, seen_edges, DType::kFloat16),
                 1.0 / 1024);
  }
}

// Calls of which nothing has to be asked while blocks are met: one block, two, three, five; full ones and partial ones.
TEST(CudaAhead, WholeSlices) {
  for (const std::int64_t keys : {64, 128, 192, 320}) {
    expect_ahead(plain_case<BFloat16Case>({2, 2, 1, 128, keys, 64, 128, {64, 64}}, seen_edges, DType::kBFloat16),
                 1.0 / 128);
    expect_ahead(plain_case<Float16Case>(
                     {1, 2, 2, 64, keys, 64, 64, {64, 64}}, [](auto, auto, auto) { return 1; }, DType::kFloat16),
                 1.0 / 1024);
  }
  cut_emulated_parts(2);
  expect_ahead(plain_case<BFloat16Case>({1, 2, 2, 128, 320, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16),
               1.0 / 128);
  cut_emulated_parts(kernels::cuda::kLongestPart);
}

// Scores that rise by more than what sums bear, and by less.
TEST(CudaAhead, ScoresThatRise) {
  auto call = plain_case<Float16Case>({1, 1, 1, 64, 320, 64, 64, {64, 64}}, seen_edges, DType::kFloat16);
  for (std::int64_t key = 0; key < 320; ++key) {
    const std::int64_t factor = 1 + key / 64 * 4;
    for (std::int64_t column = 0; column < 64; ++column) {
      call.key.set(0, 0, key, column, call.key.get(0, 0, key, column) * static_cast<double>(factor));
    }
  }
  expect_ahead(call, 1.0 / 1024);
}

TEST(CudaAhead, PaddingShortTilesAndRowsThatSeeNothing) {
  auto call = plain_case<Float16Case>({2, 2, 2, 100, 150, 40, 64, {17, 64}}, seen_edges, DType::kFloat16);
  call.keep.assign(300, 1);
  for (int key = 0; key < 64; ++key) {
    call.keep[static_cast<std::size_t>(key)] = 0;
  }
  call.keep[170] = call.keep[299] = 0;
  expect_ahead(call, 1.0 / 1024);
}

TEST(CudaAhead, PartsOfALongRowAreJoined) {
  cut_emulated_parts(2);
  expect_ahead(plain_case<BFloat16Case>({1, 2, 2, 64, 330, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16), 1.0 / 128);
  cut_emulated_parts(kernels::cuda::kLongestPart);
}

// Whole slices: full blocks, partial ones, a long item, shared keys.
TEST(CudaAhead, WholeSlicesBothWays) {
  expect_ahead(plain_case<BFloat16Case>({2, 2, 1, 128, 256, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16),
               1.0 / 128);
  cut_emulated_parts(64);
  const auto all = [](std::int64_t, std::int64_t, std::int64_t) { return 1; };
  expect_ahead(plain_case<Float16Case>({1, 1, 1, 64, 2176, 64, 64, {64, 64}}, all, DType::kFloat16), 1.0 / 1024);
  cut_emulated_parts(kernels::cuda::kLongestPart);
  auto call = plain_case<BFloat16Case>({1, 2, 2, 128, 192, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16);
  call.dropout = {0.4F, 9, 1};
  expect_ahead(call, 1.0 / 128);
}

// Each block draws again what it keeps.
TEST(CudaAhead, DropoutIsDrawnAgain) {
  auto call = plain_case<BFloat16Case>({2, 2, 1, 150, 200, 64, 30, {64, 64}}, seen_edges, DType::kBFloat16);
  call.dropout = {0.3F, 7, 2};
  expect_ahead(call, 1.0 / 128);
  auto other = plain_case<Float16Case>({1, 1, 1, 100, 70, 17, 64, {17, 64}}, seen_edges, DType::kFloat16);
  other.dropout = {0.5F, 8, 0};
  expect_ahead(other, 1.0 / 1024);
}

// More blocks than are read at once.
TEST(CudaAhead, LongItems) {
  cut_emulated_parts(64);
  expect_ahead(plain_case<BFloat16Case>({1, 1, 1, 64, 2180, 16, 8, {64, 64}}, seen_edges, DType::kBFloat16), 1.0 / 128);
  expect_ahead(plain_case<Float16Case>({1, 1, 1, 2180, 64, 8, 16, {64, 64}}, seen_edges, DType::kFloat16), 1.0 / 1024);
  cut_emulated_parts(kernels::cuda::kLongestPart);
}

// What is not finite is computed again, carefully; what no edge reaches stays finite.
TEST(CudaAhead, NaNReachesWhatSeesIt) {
  auto call = plain_case<BFloat16Case>({1, 1, 1, 100, 130, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16);
  call.value.set(0, 0, 70, 3, std::numeric_limits<double>::quiet_NaN());
  call.own = &kEmulatedHopperKernels;
  call.forward();
  for (std::int64_t row = 0; row < 100; ++row) {
    EXPECT_EQ(std::isnan(call.output.get(0, 0, row, 3)), seen_edges(0, row, 70) == 1) << row;
  }
}

}  // namespace
}  // namespace weft::test
