// SPDX-License-Identifier: Apache-2.0
// A made-up machine whose rates are known: the equations find them again, and noise makes no rate negative.
#include <gtest/gtest.h>

#include "weft/bench/calibrate.h"

namespace weft::bench {
namespace {

constexpr inspect::KernelRates kMachine{.row_seconds = 3e-6,
                                        .key_seconds = 1e-7,
                                        .masked_seconds = 2e-6,
                                        .weighted_seconds = 7e-6,
                                        .masked_key_seconds = 1.5e-7,
                                        .refill_seconds = 4e-6};

TimedWork timed(const inspect::LayoutWork& work) { return {work, forward_seconds(work, kMachine)}; }

TimedCalls made_up_calls() {
  TimedCalls calls;
  calls.rows = timed({.query_blocks = 512, .full_keys = 512 * 128});
  calls.full = timed({.query_blocks = 128, .full_keys = 4096 * 128});
  calls.masked = timed({.query_blocks = 128, .masked_keys = 4096 * 126, .partial_blocks = 4096});
  calls.narrow = timed({.query_blocks = 128, .masked_keys = 4096 * 2, .partial_blocks = 4096});
  calls.weighted = timed({.query_blocks = 64, .masked_keys = 1024 * 128, .weighted_blocks = 1024});
  calls.scattered = timed({.query_blocks = 256, .full_keys = 2048 * 128, .forward_refills = 1792});
  calls.refills = 1792;
  return calls;
}

TEST(RateEquations, FindTheRatesOfAMachine) {
  const inspect::KernelRates found = kernel_rates(made_up_calls());
  inspect::KernelRates::fields([&](const auto& field) {
    EXPECT_NEAR(found.*field.member, kMachine.*field.member, 1e-6 * (kMachine.*field.member)) << field.name;
  });
}

TEST(RateEquations, NoRateIsNegative) {
  TimedCalls calls = made_up_calls();
  calls.rows.seconds = 1e-5;      // less than its blocks alone would take
  calls.narrow.seconds = 1e-9;    // less than its rows
  calls.weighted.seconds = 1e-9;  // less than its keys
  calls.scattered.seconds = 1e-9;
  const inspect::KernelRates found = kernel_rates(calls);
  inspect::KernelRates::fields([&](const auto& field) { EXPECT_GE(found.*field.member, 0) << field.name; });
  EXPECT_NEAR(forward_seconds(calls.full.work, found), calls.full.seconds, 1e-9) << "the larger call is still met";
  EXPECT_NEAR(forward_seconds(calls.masked.work, found), calls.masked.seconds, 1e-9);
}

TEST(RateEquations, DenseAttentionIsALineAndASquare) {
  const inspect::DenseRates machine{.query_seconds = 2e-7, .pair_seconds = 3e-9};
  const auto seconds = [&](double length) { return inspect::dense_seconds(4, length, machine); };
  const inspect::DenseRates found = dense_rates({4, 1024, seconds(1024), 2048, seconds(2048)});
  EXPECT_NEAR(found.query_seconds, machine.query_seconds, 1e-12);
  EXPECT_NEAR(found.pair_seconds, machine.pair_seconds, 1e-14);
  EXPECT_EQ(dense_rates({4, 1024, 1e-9, 2048, 1}).query_seconds, 0);
}

}  // namespace
}  // namespace weft::bench
