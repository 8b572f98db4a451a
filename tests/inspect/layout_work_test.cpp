// SPDX-License-Identifier: Apache-2.0
// What the kernel does for a layout, counted by hand; seconds as sums of counts times rates; rates between widths.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/inspect/cost/layout_work.h"
#include "weft/pattern/build.h"
#include "weft/pattern/pattern.h"

namespace weft::inspect {
namespace {

LayoutWork work_of(const pattern::Pattern& pattern, std::int64_t length, std::int64_t heads = 1) {
  pattern::Site site;
  site.query_length = length;
  site.key_length = length;
  site.heads = heads;
  return layout_work(compile(pattern, site, {}), 64);
}

LayoutWork work_of(const char* expression, std::int64_t length, std::int64_t heads = 1) {
  return work_of(pattern::Pattern::parse(expression), length, heads);
}

TEST(LayoutWork, FullBlocksCountEveryKeyOnceAPanel) {
  const LayoutWork work = work_of("full", 256);
  EXPECT_EQ(work.query_blocks, 4);
  EXPECT_EQ(work.key_blocks, 4);
  EXPECT_EQ(work.full_keys, 16 * 2 * 64);
  EXPECT_EQ(work.masked_keys, 0);
  EXPECT_EQ(work.slots, 256 * 256);
}

TEST(LayoutWork, ShortBlocksCountWhatIsThere) {
  // Queries 64 to 79 are one panel; the last block has 16 keys.
  EXPECT_EQ(work_of("full", 80).full_keys, 2 * (64 + 16) + 1 * (64 + 16));
}

TEST(LayoutWork, MaskedBlocksCountTheKeysBetweenTheFirstAndTheLast) {
  // On the diagonal the panels see 32 and 64 keys.
  const LayoutWork causal = work_of("causal", 128);
  EXPECT_EQ(causal.partial_blocks, 2);
  EXPECT_EQ(causal.masked_keys, 2 * (32 + 64));
  EXPECT_EQ(causal.full_keys, 2 * 64);
  const LayoutWork last = work_of("summary(64, 1)", 128);
  EXPECT_EQ(last.partial_blocks, 4);
  EXPECT_EQ(last.masked_keys, 4 * 2);
  EXPECT_EQ(work_of("stride(2)", 128).masked_keys, 4 * 2 * 64) << "even queries see even keys, odd ones odd keys";
}

TEST(LayoutWork, BlocksWithMultiplicitiesAreTheirOwnKind) {
  const LayoutWork work = work_of(pattern::Pattern(pattern::block(64, pattern::plan({{{{0, 0}, {1}}}}))), 128);
  EXPECT_EQ(work.weighted_blocks, 1);
  EXPECT_EQ(work.partial_blocks, 0);
  EXPECT_EQ(work.masked_keys, 128);
  EXPECT_EQ(work.full_keys, 128);
}

// Heads of 64: a thread keeps 128 packed blocks of keys, and 64 of queries.
TEST(LayoutWork, BlocksThatOthersReplacedArePackedAgain) {
  EXPECT_EQ(packed_blocks(64), 128);
  const LayoutWork fits = work_of("full", 64 * 64);
  EXPECT_EQ(fits.forward_refills, 0);
  EXPECT_EQ(fits.backward_refills, 0);
  const LayoutWork backward = work_of("full", 128 * 64);
  EXPECT_EQ(backward.forward_refills, 0);
  EXPECT_EQ(backward.backward_refills, 127 * 128) << "all but the first time of each";
  const LayoutWork both = work_of("full", 256 * 64);
  EXPECT_EQ(both.forward_refills, 255 * 256);
  EXPECT_EQ(both.backward_refills, 255 * 256);
  EXPECT_EQ(work_of("window(512)", 1 << 20).backward_refills, 0) << "neighbours look at the same blocks";
  EXPECT_EQ(work_of("full", 256 * 64, 3).forward_refills, 3 * both.forward_refills);
}

TEST(LayoutWork, RefillsFollowTheRowsForwardsAndTheColumnsBackwards) {
  // Row r sees blocks 0 and 128, which share a slot; columns 0 and 128 see all rows, and share slots of 64.
  std::vector<std::vector<std::int64_t>> rows(256, {0, 128});
  const LayoutWork work = work_of(pattern::Pattern(pattern::block(64, pattern::plan({{std::move(rows)}}))), 256 * 64);
  EXPECT_EQ(work.forward_refills, 2 * 255);
  EXPECT_EQ(work.backward_refills, 256);
}

TEST(LayoutWork, SumsOverHeadsEvenWhereTheyShareALayout) {
  const LayoutWork one = work_of("window(100)", 512);
  const LayoutWork four = work_of("window(100)", 512, 4);
  EXPECT_EQ(four.masked_keys, 4 * one.masked_keys);
  EXPECT_EQ(four.query_blocks, 4 * one.query_blocks);
  EXPECT_EQ(four.slots, 4 * one.slots);
  const LayoutWork mixed = work_of("heads(full, window(1))", 512, 2);
  EXPECT_EQ(mixed.full_keys, work_of("full", 512).full_keys);
  EXPECT_EQ(mixed.masked_keys, work_of("window(1)", 512).masked_keys);
}

TEST(LayoutWork, RefusesTilesThatTheKernelDoesNotTake) {
  pattern::Site site;
  site.query_length = site.key_length = 64;
  test::expect_error(ErrorKind::kArgument, {"64 x 64", "1 x 64"},
                     [&] { layout_work(compile(pattern::Pattern::parse("full"), site, {1, 64}), 64); });
  test::expect_error(ErrorKind::kArgument, {"width of a head", "0"},
                     [&] { layout_work(compile(pattern::Pattern::parse("full"), site, {}), 0); });
}

TEST(LayoutWork, SecondsAreCountsTimesRates) {
  LayoutWork work;
  work.query_blocks = 3;
  work.key_blocks = 5;
  work.full_keys = 100;
  work.masked_keys = 1000;
  work.partial_blocks = 7;
  work.weighted_blocks = 2;
  work.forward_refills = 4;
  work.backward_refills = 6;
  const KernelRates rates{.row_seconds = 0.1,
                          .key_seconds = 0.01,
                          .masked_seconds = 0.001,
                          .weighted_seconds = 0.5,
                          .masked_key_seconds = 0.0001,
                          .refill_seconds = 0.25};
  EXPECT_DOUBLE_EQ(forward_seconds(work, rates), 0.3 + 1 + 0.007 + 1 + 0.1 + 1);
  EXPECT_DOUBLE_EQ(backward_seconds(work, rates), 0.5 + 1 + 0.007 + 1 + 0.1 + 1.5);
  EXPECT_DOUBLE_EQ(dense_seconds(2, 10, {.query_seconds = 0.5, .pair_seconds = 0.25}), 2 * 10 * (0.5 + 10 * 0.25));
}

MeasuredAttention measured(std::int64_t head_dim, double seconds) {
  MeasuredAttention each{"float32", head_dim, {}};
  each.rates.forward.key_seconds = seconds;
  return each;
}

TEST(MachineRates, AreLinearBetweenAndBeyondTheWidthsMeasured) {
  const MachineRates rates{.attention = {measured(128, 0.5), measured(32, 0.1), measured(64, 0.2)}};
  const auto at = [&](std::int64_t head_dim) {
    return attention_rates(rates, "float32", head_dim).forward.key_seconds;
  };
  EXPECT_DOUBLE_EQ(at(32), 0.1);
  EXPECT_DOUBLE_EQ(at(64), 0.2);
  EXPECT_DOUBLE_EQ(at(128), 0.5);
  EXPECT_DOUBLE_EQ(at(48), 0.15);
  EXPECT_DOUBLE_EQ(at(96), 0.35);
  EXPECT_NEAR(at(256), 1.1, 1e-12);
  EXPECT_DOUBLE_EQ(at(0), 0) << "never below zero";
  EXPECT_DOUBLE_EQ(attention_rates({.attention = {measured(32, 0.1)}}, "float32", 80).forward.key_seconds, 0.1);
}

TEST(MachineRates, OfATypeThatWasNotMeasuredAreAnError) {
  const MachineRates rates{.attention = {measured(32, 0.1)}};
  test::expect_error(ErrorKind::kArgument, {"bfloat16"}, [&] { attention_rates(rates, "bfloat16", 64); });
  test::expect_error(ErrorKind::kArgument, {"layers", "float32"}, [&] { layer_rates(rates, "float32"); });
}

}  // namespace
}  // namespace weft::inspect
