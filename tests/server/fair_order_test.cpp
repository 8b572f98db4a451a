// SPDX-License-Identifier: Apache-2.0
// Bytes of each size while all wait: none starves, and none gets more than its share.
#include "weft/server/work/fair_order.h"

#include <gtest/gtest.h>

namespace weft::server {
namespace {

constexpr std::int64_t kBatch = 1600;

TEST(FairOrder, Sizes) {
  const FairOrder order(kBatch);
  EXPECT_EQ(order.size_of(0), 0U);
  EXPECT_EQ(order.size_of(100), 0U);
  EXPECT_EQ(order.size_of(101), 1U);
  EXPECT_EQ(order.size_of(1600), 1U);
  EXPECT_EQ(order.size_of(1601), 2U);
}

TEST(FairOrder, AShortOneOvertakesLongOnes) {
  FairOrder order(kBatch);
  EXPECT_EQ(order.next({std::nullopt, std::nullopt, 100000}), 2U) << "alone it waits for nobody";
  order.pay(100000);
  EXPECT_EQ(order.next({50, std::nullopt, 100000}), 0U);
}

TEST(FairOrder, ALongOneWaitsForItsBytesOnly) {
  FairOrder order(kBatch);
  int before = 0;
  while (order.next({100, std::nullopt, 16000}) == 0) {
    order.pay(100);
    ++before;
  }
  EXPECT_EQ(before, 16 * 9) << "short ones had nine rounds, the long one needs ten";
}

TEST(FairOrder, AllSizesGetTheSameBytes) {
  FairOrder order(kBatch);
  const FairOrder::Heads heads = {80, 1000, 7000};
  std::array<std::int64_t, FairOrder::kSizes> bytes{};
  for (int i = 0; i < 10000; ++i) {
    const std::size_t size = order.next(heads);
    order.pay(*heads.at(size));
    bytes.at(size) += *heads.at(size);
  }
  for (const std::int64_t one : bytes) {
    EXPECT_NEAR(static_cast<double>(one), static_cast<double>(bytes[0]), 2 * 7000);
  }
}

TEST(FairOrder, WhoDidNotWaitSavedNothing) {
  FairOrder order(kBatch);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order.next({std::nullopt, 1600, std::nullopt}), 1U);
    order.pay(1600);
  }
  int shorts = 0;
  while (order.next({100, 1600, std::nullopt}) == 0 && shorts < 1000) {
    order.pay(100);
    ++shorts;
  }
  EXPECT_LE(shorts, 16);
}

}  // namespace
}  // namespace weft::server
