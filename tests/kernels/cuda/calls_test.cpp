// SPDX-License-Identifier: Apache-2.0
// What only the CUDA kernels have: copies of aligned rows, wide heads in slices, long rows and columns in parts that
// are joined, and the plans that say so. What all kernels have is in ../fused_test.cpp and ../not_finite_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cuda/emulated_call.h"
#include "kernels/exact_case.h"

namespace weft::test {
namespace {

using kernels::DType;

// Rows of 61 numbers and a gap of three begin at multiples of 16 bytes.
template <typename Case>
void expect_aligned_agreement(DType dtype, std::int64_t head_dim, std::int64_t value_dim, const Bounds& bounds,
                              std::int64_t queries = 70) {
  Case call({1, 2, 1, queries, 75, head_dim, value_dim, {64, 64}}, mixed_edges, 3, dtype);
  call.own = &kEmulatedCudaKernels;
  call.scale = 0.1;
  call.keep.assign(75, 1);
  call.keep[7] = call.keep[70] = 0;
  expect_agreement(call, bounds);
  EXPECT_TRUE(emulated_copies_were_aligned());
}

TEST(CudaCalls, AlignedRowsOfAllWidths) {
  for (const std::int64_t width : {13, 61, 125, 253}) {
    expect_aligned_agreement<Float32Case>(DType::kFloat32, width, width, {2e-6, 1e-5});
    expect_aligned_agreement<BFloat16Case>(DType::kBFloat16, width, width, {1.0 / 128, 1.0 / 50});
  }
  expect_aligned_agreement<Float16Case>(DType::kFloat16, 61, 253, {1.0 / 1024, 1.0 / 400});
  expect_aligned_agreement<BFloat16Case>(DType::kBFloat16, 253, 61, {1.0 / 128, 1.0 / 50});
}

TEST(CudaCalls, OneQueryOverAlignedRowsOfAllWidths) {
  for (const std::int64_t width : {13, 61, 125, 253}) {
    expect_aligned_agreement<Float32Case>(DType::kFloat32, width, width, {2e-6, 1e-5}, 1);
    expect_aligned_agreement<BFloat16Case>(DType::kBFloat16, width, width, {1.0 / 128, 1.0 / 50}, 1);
  }
  expect_aligned_agreement<Float16Case>(DType::kFloat16, 61, 253, {1.0 / 1024, 1.0 / 400}, 1);
}

TEST(CudaCalls, Float32OnTensorCoresByRequest) {
  use_emulated_tf32(true);
  expect_aligned_agreement<Float32Case>(DType::kFloat32, 61, 37, {1.0 / 1024, 1.0 / 400});
  Float32Case rounded({1, 1, 1, 20, 20, 61, 61, {64, 64}}, mixed_edges, 3, DType::kFloat32);
  rounded.own = &kEmulatedCudaKernels;
  rounded.forward();
  const std::vector<double> once = rounded.output.values();
  use_emulated_tf32(false);
  rounded.forward();
  EXPECT_NE(rounded.output.values(), once);
}

int star_edges(std::int64_t, std::int64_t query, std::int64_t key) {
  return (query < 2 || key < 2 || query / 40 == key / 40) && query != 90 ? 1 : 0;
}

// The first row and column have four blocks, others two.
int cross_edges(std::int64_t, std::int64_t query, std::int64_t key) {
  return query < 2 || key < 2 || query / 64 == key / 64 ? 1 : 0;
}

// Parts of two blocks: longer rows and columns give what one part gives.
template <typename Case>
void expect_parts_equal_whole(DType dtype, std::int64_t key_heads, double bound,
                              int (*edges)(std::int64_t, std::int64_t, std::int64_t)) {
  const Shape shape{1, 2, key_heads, 200, 210, 24, 16, {64, 64}};
  Case whole(shape, edges, 4, dtype);
  Case parts(shape, edges, 4, dtype);
  Case again(shape, edges, 4, dtype);
  for (Case* each : {&whole, &parts, &again}) {
    each->own = &kEmulatedCudaKernels;
    each->slopes = {0.01F, 0.02F};
    each->dropout = {0.2F, 5, 1};
    cut_emulated_parts(each == &whole ? kernels::cuda::kLongestPart : 2);
    each->forward();
    each->backward();
  }
  cut_emulated_parts(kernels::cuda::kLongestPart);
  expect_close(parts.output, whole.output, bound, bound);
  expect_close(parts.query_gradient, whole.query_gradient, bound, 1e-6);
  expect_close(parts.key_gradient, whole.key_gradient, bound, 1e-6);
  expect_close(parts.value_gradient, whole.value_gradient, bound, 1e-6);
  EXPECT_EQ(parts.output.values(), again.output.values());
  EXPECT_EQ(parts.log_sum_exp, again.log_sum_exp);
  EXPECT_EQ(parts.query_gradient.values(), again.query_gradient.values());
  EXPECT_EQ(parts.key_gradient.values(), again.key_gradient.values());
  EXPECT_EQ(parts.distance_gradient, again.distance_gradient);
}

TEST(CudaCalls, LongRowsAreCutAndJoined) {
  expect_parts_equal_whole<Float32Case>(DType::kFloat32, 2, 2e-6, star_edges);
  expect_parts_equal_whole<BFloat16Case>(DType::kBFloat16, 1, 1.0 / 128, star_edges);  // heads share keys
}

TEST(CudaCalls, PartsOfAFewLongRowsComeFirst) {
  expect_parts_equal_whole<Float32Case>(DType::kFloat32, 2, 2e-6, cross_edges);
  expect_parts_equal_whole<BFloat16Case>(DType::kBFloat16, 1, 1.0 / 128, cross_edges);
}

int any_edge(std::int64_t, std::int64_t, std::int64_t) { return 1; }

// What is NaN is so in both, and the rest is close.
void expect_same_with_nan(const std::vector<double>& left, const std::vector<double>& right) {
  ASSERT_EQ(left.size(), right.size());
  std::int64_t lost = 0;
  for (std::size_t at = 0; at < left.size(); ++at) {
    lost += std::isnan(right[at]) ? 1 : 0;
    EXPECT_EQ(std::isnan(left[at]), std::isnan(right[at])) << at;
    EXPECT_FALSE(std::abs(left[at] - right[at]) > 0.02 + 0.02 * std::abs(right[at])) << at;
  }
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, static_cast<std::int64_t>(left.size()));
}

// Blocks with a NaN run again: those that have it, also where the parts of long rows come first.
TEST(CudaCalls, BlocksThatRunAgainAreFoundInAnyOrder) {
  const Shape shape{1, 2, 2, 200, 210, 24, 16, {64, 64}};
  for (const kernels::FusedKernels* kernels : {&kEmulatedCudaKernels, &kEmulatedHopperKernels}) {
    BFloat16Case whole(shape, cross_edges, 4, DType::kBFloat16);
    BFloat16Case parts(shape, cross_edges, 4, DType::kBFloat16);
    for (BFloat16Case* each : {&whole, &parts}) {
      each->own = kernels;
      each->value.set(0, 1, 130, 3, std::numeric_limits<double>::quiet_NaN());
      cut_emulated_parts(each == &whole ? kernels::cuda::kLongestPart : 2);
      each->forward();
      each->backward();
    }
    cut_emulated_parts(kernels::cuda::kLongestPart);
    expect_same_with_nan(parts.output.values(), whole.output.values());
    expect_same_with_nan(parts.query_gradient.values(), whole.query_gradient.values());
    expect_same_with_nan(parts.key_gradient.values(), whole.key_gradient.values());
  }
}

// More thread blocks than one looks at together: in either walk of the backward pass those run again that must.
TEST(CudaCalls, EachOfManyBlocksIsFoundThatRunsAgain) {
  const auto alike = [](std::int64_t, std::int64_t query, std::int64_t key) { return query % 2 == key % 2 ? 1 : 0; };
  const auto is_lost = [](std::int64_t batch) { return batch == 0 || batch == 127 || batch == 128 || batch == 149; };
  for (const kernels::FusedKernels* kernels : {&kEmulatedCudaKernels, &kEmulatedHopperKernels}) {
    BFloat16Case call({150, 1, 1, 20, 70, 8, 8, {64, 64}}, alike, 4, DType::kBFloat16);
    call.own = kernels;
    for (std::int64_t batch = 0; batch < 150; ++batch) {
      if (is_lost(batch)) {
        call.value.set(batch, 0, 67, 3, std::numeric_limits<double>::quiet_NaN());
      }
    }
    call.forward();
    call.backward();
    for (std::int64_t batch = 0; batch < 150; ++batch) {
      for (std::int64_t row = 0; row < 20; ++row) {
        EXPECT_EQ(std::isnan(call.output.get(batch, 0, row, 3)), is_lost(batch) && row % 2 == 1) << batch;
        EXPECT_EQ(std::isnan(call.query_gradient.get(batch, 0, row, 0)), is_lost(batch) && row % 2 == 1) << batch;
      }
      for (std::int64_t key = 0; key < 70; ++key) {
        EXPECT_EQ(std::isnan(call.key_gradient.get(batch, 0, key, 0)), is_lost(batch) && key % 2 == 1) << batch;
      }
    }
  }
}

// Rows and columns of 40 blocks, which are not cut, give what parts of 16 give.
void expect_long_parts_equal_short(const kernels::FusedKernels& kernels, const Shape& shape) {
  BFloat16Case cut(shape, any_edge, 4, DType::kBFloat16);
  BFloat16Case whole(shape, any_edge, 4, DType::kBFloat16);
  for (BFloat16Case* each : {&cut, &whole}) {
    each->own = &kernels;
    cut_emulated_parts(each == &cut ? kernels::cuda::kLongestPart : 64);
    each->forward();
    each->backward();
  }
  cut_emulated_parts(kernels::cuda::kLongestPart);
  constexpr double kBound = 1.0 / 128;
  expect_close(whole.output, cut.output, kBound, kBound);
  expect_close(whole.query_gradient, cut.query_gradient, kBound, 1e-5);
  expect_close(whole.key_gradient, cut.key_gradient, kBound, 1e-5);
  expect_close(whole.value_gradient, cut.value_gradient, kBound, 1e-5);
}

TEST(CudaCalls, RowsOfManyBlocksNeedNotBeCut) {
  for (const kernels::FusedKernels* kernels : {&kEmulatedCudaKernels, &kEmulatedHopperKernels}) {
    expect_long_parts_equal_short(*kernels, {1, 1, 1, 64, 2560, 16, 16, {64, 64}});
    expect_long_parts_equal_short(*kernels, {1, 1, 1, 2560, 64, 16, 16, {64, 64}});
  }
}

TEST(CudaCalls, PlansHaveTheLongestFirst) {
  const pattern::BlockLayout layout = hand_layout({64, 64}, 200, 210, 1, star_edges);
  const kernels::cuda::PlanSource source{
      layout.row_begin.data(), layout.key_block.data(), layout.kind.data(), 4, 1, 2, false};
  const kernels::cuda::PlanSize size = kernels::cuda::plan_size(source);
  EXPECT_EQ(size.items, 8);  // four rows of three or four blocks
  EXPECT_EQ(size.joins, 4);
  EXPECT_EQ(size.slots, 8);
  EXPECT_EQ(size.long_items, 0);  // all rows are cut: their order is that of any
  std::vector<kernels::cuda::WorkItem> items(static_cast<std::size_t>(size.items));
  std::vector<kernels::cuda::JoinItem> joins(static_cast<std::size_t>(size.joins));
  std::int64_t item_begin[2];
  std::int64_t join_begin[2];
  fill_plan(source, {items.data(), item_begin, joins.data(), join_begin});
  std::int64_t blocks = 0;
  for (std::size_t at = 0; at < items.size(); ++at) {
    const std::int64_t count = items[at].end - items[at].begin;
    blocks += count;
    EXPECT_LE(count, at == 0 ? 2 : items[at - 1].end - items[at - 1].begin);
    for (std::int64_t block = 0; block < 2; ++block) {
      const auto index = static_cast<std::size_t>(items[at].begin + block);
      EXPECT_EQ(items[at].met[block], block < count ? layout.key_block[index] : 0);
      EXPECT_EQ(items[at].kind[block], block < count ? layout.kind[index] : 0);
    }
  }
  EXPECT_EQ(blocks, layout.blocks());
  EXPECT_EQ(joins[0].block, 0);
  EXPECT_EQ(joins[0].count, 2);
  EXPECT_EQ(item_begin[1], size.items);

  const pattern::BlockLayout cross = hand_layout({64, 64}, 200, 210, 1, cross_edges);
  const kernels::cuda::PlanSize one =
      kernels::cuda::plan_size({cross.row_begin.data(), nullptr, nullptr, 4, 1, 2, false});
  EXPECT_EQ(one.joins, 1);
  EXPECT_EQ(one.most_items, 5);
  EXPECT_EQ(one.long_items, 2);
}

TEST(CudaCalls, PartsAreLongWhereThereIsMuchWork) {
  const pattern::BlockLayout few = hand_layout({64, 64}, 200, 210, 2, star_edges);
  EXPECT_EQ(kernels::cuda::longest_part(few.view()), kernels::cuda::kLongestPart);
  pattern::BlockLayout many = hand_layout({64, 64}, 512, 256, 1, any_edge);
  many.group.assign(1024, 0);  // heads that share a group of 32 blocks
  pattern::LayoutView view = many.view();
  view.heads = 1024;
  EXPECT_EQ(kernels::cuda::longest_part(view), 1024 * 32 / kernels::cuda::kBusyItems);
}

}  // namespace
}  // namespace weft::test
