// SPDX-License-Identifier: Apache-2.0
// Key blocks that are taken together, and blocks of queries that are on the way back: rows and columns of more blocks
// than a run holds, runs that something ends, and blocks that share a slot of the cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/exact_case.h"
#include "kernels/kernel_variants.h"

namespace weft::test {
namespace {

using kernels::DType;

class KeyRuns : public ::testing::TestWithParam<KernelVariant> {
 protected:
  void SetUp() override {
    if (!kernels::is_available(GetParam().isa)) {
      GTEST_SKIP() << "this machine has no " << kernels::to_string(GetParam().isa);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, KeyRuns, ::testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

int every_edge(std::int64_t, std::int64_t, std::int64_t) { return 1; }

// Nine whole blocks and five keys more.
constexpr Shape kLongRow{1, 1, 1, 70, 9 * 64 + 5, 24, 40, {64, 64}};

template <typename Case>
void expect_long_rows(const KernelVariant& variant, DType dtype, const Bounds& bounds) {
  for (int what = 0; what < 4; ++what) {
    SCOPED_TRACE(what);
    Case call(kLongRow, every_edge, 7, dtype);
    variant.use_for(call);
    if (what == 1) {
      call.dropout = {0.2F, 11, 1};
    }
    if (what == 2) {
      call.slopes = {0.01F};
    }
    if (what == 3) {  // the third block is padded in part, the sixth wholly
      call.keep.assign(static_cast<std::size_t>(kLongRow.key_length), 1);
      call.keep[2 * 64 + 9] = 0;
      std::fill_n(call.keep.begin() + std::ptrdiff_t{5} * 64, 64, std::uint8_t{0});
    }
    if (variant.runs(call)) {
      expect_agreement(call, bounds);
    }
  }
}

TEST_P(KeyRuns, LongRowsEqualFloat64) {
  expect_long_rows<Float32Case>(GetParam(), DType::kFloat32, {2e-6, 1e-5});
  expect_long_rows<BFloat16Case>(GetParam(), DType::kBFloat16, {1.0 / 128, 1.0 / 50});
}

// Scores of all queries that rise by `step` from key to key.
template <typename Case>
Case rising_case(DType dtype, double step) {
  Case call(kLongRow, every_edge, 8, dtype);
  for (std::int64_t key = 0; key < kLongRow.key_length; ++key) {
    call.key.set(0, 0, key, 0, step * static_cast<double>(key));
  }
  for (std::int64_t query = 0; query < kLongRow.query_length; ++query) {
    call.query.set(0, 0, query, 0, 2);
  }
  return call;
}

TEST_P(KeyRuns, AMaximumThatGrowsFromRunToRun) {
  for (const double step : {-0.02, 0.02}) {  // it never moves after the first run, or moves with each
    auto call = rising_case<Float32Case>(DType::kFloat32, step);
    GetParam().use_for(call);
    if (GetParam().runs(call)) {
      expect_agreement(call, {6e-6, 3e-5});
    }
  }
  for (const double step : {-0.02, 0.02, 0.003}) {  // the same, or what is subtracted lags behind for some runs
    SCOPED_TRACE(step);
    auto call = rising_case<BFloat16Case>(DType::kBFloat16, step);
    GetParam().use_for(call);
    if (GetParam().runs(call)) {
      expect_agreement(call, {1.0 / 64, 1.0 / 25});
    }
  }
}

TEST_P(KeyRuns, BlocksOfOneSlotAreNotTakenTogether) {
  // A cache of 4 MB has 32 slots for blocks of this width: the first and the last block share one.
  const auto ends = [](std::int64_t, std::int64_t, std::int64_t key) {
    return key < 64 || (key >= 31 * 64 && key < 33 * 64) ? 1 : 0;
  };
  Float32Case call({1, 1, 1, 8, 33 * 64, 256, 256, {64, 64}}, ends, 3, DType::kFloat32);
  GetParam().use_for(call);
  if (GetParam().runs(call)) {
    call.scale = 0.0625;
    expect_agreement(call, {2e-6, 1e-5});
  }
}

// After five blocks panels see other ranges of keys than the ones before: runs end on the way.
int staircase(std::int64_t, std::int64_t query, std::int64_t key) {
  return query < std::int64_t{5} * 64 || key >= query % 64 ? 1 : 0;
}

// Nine whole blocks of queries and five queries more, with keys of one block and of a part of another.
constexpr Shape kLongColumn{1, 2, 1, 9 * 64 + 5, 70, 24, 40, {64, 64}};

template <typename Case>
void expect_long_columns(const KernelVariant& variant, DType dtype, const Bounds& bounds) {
  for (int what = 0; what < 4; ++what) {
    SCOPED_TRACE(what);
    Case call(kLongColumn, what == 1 ? staircase : every_edge, 9, dtype);
    variant.use_for(call);
    if (what == 2) {
      call.dropout = {0.2F, 11, 1};
    }
    if (what == 3) {
      call.slopes = {0.01F, 0.02F};
    }
    if (variant.runs(call)) {
      expect_agreement(call, bounds);
    }
  }
}

TEST_P(KeyRuns, LongColumnsEqualFloat64) {
  expect_long_columns<Float32Case>(GetParam(), DType::kFloat32, {2e-6, 1e-5});
  expect_long_columns<BFloat16Case>(GetParam(), DType::kBFloat16, {1.0 / 128, 1.0 / 50});
}

TEST_P(KeyRuns, QueriesOfOneSlotAreNotTakenTogether) {
  // Query blocks of pairs of this width have 21 slots in 4 MB: the first block and the next one with edges share one,
  // and a run would hold both.
  const auto ends = [](std::int64_t, std::int64_t query, std::int64_t) {
    return query < 64 || query >= 21 * 64 ? 1 : 0;
  };
  BFloat16Case call({1, 1, 1, 23 * 64, 8, 256, 256, {64, 64}}, ends, 3, DType::kBFloat16);
  GetParam().use_for(call);
  if (GetParam().runs(call)) {
    call.scale = 0.0625;
    expect_agreement(call, {1.0 / 128, 1.0 / 50});
  }
}

}  // namespace
}  // namespace weft::test
