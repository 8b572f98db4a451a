// SPDX-License-Identifier: Apache-2.0
// The passes that multiply slices of shared memory, on lanes that have such products: calls without terms but
// dropout, which are the only ones that take that way; backwards those of narrow heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cuda/emulated_call.h"
#include "kernels/exact_case.h"

namespace weft::test {
namespace {

using kernels::AttentionArguments;
using kernels::DType;

// An array of 16-bit numbers without the gaps of a case, [batch, rows, heads, columns]: rows of 64 begin at multiples
// of 16 bytes so, which calls whose slices are whole must have.
class PackedRows {
 public:
  PackedRows(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns)
      : batch_(batch),
        heads_(heads),
        rows_(rows),
        columns_(columns),
        numbers_(static_cast<std::size_t>(batch * heads * rows * columns)) {}

  kernels::Input taken(const kernels::Input& from) {
    each_row(from, [&](const void* data, std::int64_t at, std::uint16_t* own) {
      std::copy_n(static_cast<const std::uint16_t*>(data) + at, columns_, own);
    });
    return {numbers_.data(), rows_ * heads_ * columns_, columns_, heads_ * columns_};
  }
  kernels::Output room() { return {numbers_.data(), rows_ * heads_ * columns_, columns_, heads_ * columns_}; }
  void give(const kernels::Output& to) {
    each_row(to, [&](void* data, std::int64_t at, const std::uint16_t* own) {
      std::copy_n(own, columns_, static_cast<std::uint16_t*>(data) + at);
    });
  }

 private:
  template <typename Pointer, typename Work>
  void each_row(const kernels::Array4<Pointer>& array, const Work& work) {
    for (std::int64_t row = 0; row < batch_ * heads_ * rows_; ++row) {
      const std::int64_t batch = row / heads_ / rows_;
      const std::int64_t head = row % heads_;
      const std::int64_t of_head = row / heads_ % rows_;
      work(array.data, batch * array.batch_stride + head * array.head_stride + of_head * array.row_stride,
           numbers_.data() + row * columns_);
    }
  }

  std::int64_t batch_;
  std::int64_t heads_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<std::uint16_t> numbers_;
};

// The arrays of a call, packed.
struct PackedCall {
  explicit PackedCall(const AttentionArguments& of)
      : arguments(of),
        query(of.batch, of.heads, of.query_length, of.head_dim),
        key(of.batch, of.key_heads, of.key_length, of.head_dim),
        value(of.batch, of.key_heads, of.key_length, of.value_dim),
        output(of.batch, of.heads, of.query_length, of.value_dim) {
    arguments.query = query.taken(of.query);
    arguments.key = key.taken(of.key);
    arguments.value = value.taken(of.value);
    output.taken({of.output.data, of.output.batch_stride, of.output.head_stride, of.output.row_stride});
    arguments.output = output.room();
  }
  AttentionArguments arguments;
  PackedRows query;
  PackedRows key;
  PackedRows value;
  PackedRows output;
};

kernels::Status run_packed_forward(const AttentionArguments& arguments, const ParallelFor& parallel) noexcept {
  PackedCall packed(arguments);
  const kernels::Status status = kEmulatedHopperKernels.forward(packed.arguments, parallel);
  packed.output.give(arguments.output);
  return status;
}

kernels::Status run_packed_backward(const AttentionArguments& arguments, const kernels::AttentionGradients& gradients,
                                    const ParallelFor& parallel) noexcept {
  PackedCall packed(arguments);
  PackedRows incoming = packed.output;
  PackedRows query = packed.query;
  PackedRows key = packed.key;
  PackedRows value = packed.value;
  kernels::AttentionGradients given = gradients;
  given.output_gradient = incoming.taken(gradients.output_gradient);
  given.query_gradient = query.room();
  given.key_gradient = key.room();
  given.value_gradient = value.room();
  const kernels::Status status = kEmulatedHopperKernels.backward(packed.arguments, given, parallel);
  query.give(gradients.query_gradient);
  key.give(gradients.key_gradient);
  value.give(gradients.value_gradient);
  return status;
}

constexpr kernels::FusedKernels kPackedHopperKernels{run_packed_forward, run_packed_backward, nullptr, nullptr,
                                                     nullptr};

template <typename Case>
void expect_ahead(Case call, double bound, const kernels::FusedKernels& kernels = kEmulatedHopperKernels) {
  Case plain = call;
  Float64Case exact = exact_case(call);
  exact.forward();
  call.own = &kernels;
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

// The same, and with rows that have no gaps.
template <typename Case>
void expect_whole(const Case& call, double bound) {
  expect_ahead(call, bound);
  expect_ahead(call, bound, kPackedHopperKernels);
  EXPECT_TRUE(emulated_copies_were_aligned());
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
    expect_whole(plain_case<BFloat16Case>({2, 2, 1, 128, keys, 64, 128, {64, 64}}, seen_edges, DType::kBFloat16),
                 1.0 / 128);
    expect_whole(plain_case<Float16Case>(
                     {1, 2, 2, 64, keys, 64, 64, {64, 64}}, [](auto, auto, auto) { return 1; }, DType::kFloat16),
                 1.0 / 1024);
  }
  cut_emulated_parts(2);
  expect_whole(plain_case<BFloat16Case>({1, 2, 2, 128, 320, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16),
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
  expect_whole(call, 1.0 / 1024);
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
  expect_whole(plain_case<BFloat16Case>({2, 2, 1, 128, 256, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16),
               1.0 / 128);
  cut_emulated_parts(64);
  const auto all = [](std::int64_t, std::int64_t, std::int64_t) { return 1; };
  expect_whole(plain_case<Float16Case>({1, 1, 1, 64, 2176, 64, 64, {64, 64}}, all, DType::kFloat16), 1.0 / 1024);
  cut_emulated_parts(kernels::cuda::kLongestPart);
  auto call = plain_case<BFloat16Case>({1, 2, 2, 128, 192, 64, 64, {64, 64}}, seen_edges, DType::kBFloat16);
  call.dropout = {0.4F, 9, 1};
  expect_whole(call, 1.0 / 128);
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

// A block that runs again is the one whose flag is set, also where the parts of a long row come first.
TEST(CudaAhead, WholeSlicesRunAgain) {
  const auto crossed = [](std::int64_t, std::int64_t query, std::int64_t key) {
    return query < 2 || query / 64 == key / 64 ? 1 : 0;
  };
  auto call = plain_case<BFloat16Case>({1, 2, 2, 256, 256, 64, 64, {64, 64}}, crossed, DType::kBFloat16);
  call.value.set(0, 1, 130, 3, std::numeric_limits<double>::quiet_NaN());
  call.own = &kPackedHopperKernels;
  cut_emulated_parts(2);
  call.forward();
  cut_emulated_parts(kernels::cuda::kLongestPart);
  EXPECT_TRUE(emulated_copies_were_aligned());
  for (std::int64_t row = 0; row < 512; ++row) {
    const bool sees_it = row >= 256 && crossed(1, row - 256, 130) == 1;
    EXPECT_EQ(std::isnan(call.output.get(0, row / 256, row % 256, 3)), sees_it) << row;
  }
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
