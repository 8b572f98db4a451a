// SPDX-License-Identifier: Apache-2.0
// Every example once an epoch, no batch over its budget, little padding, and the same batches for the same seed.
#include "weft/data/length_batches.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/core/random.h"

namespace weft::data {
namespace {

std::vector<std::int32_t> random_lengths(std::size_t count) {
  std::vector<std::int32_t> lengths(count);
  for (std::size_t i = 0; i < count; ++i) {
    lengths[i] = 1 + static_cast<std::int32_t>(random_below(random_bits(3, i), 500));
  }
  return lengths;
}

// Tokens with their padding over tokens, and checks on the way, for the batches of one epoch.
double padding_of(const std::vector<std::int32_t>& lengths, const LengthBatchOptions& options) {
  LengthBatches batches(lengths, options);
  std::multiset<std::int64_t> seen;
  std::int64_t padded = 0;
  for (std::int64_t number = 0; batches.epoch(number) == 0; ++number) {
    std::int32_t longest = 0;
    const std::vector<std::int64_t>& batch = batches.batch(number);
    for (const std::int64_t example : batch) {
      seen.insert(example);
      longest = std::max(longest, lengths[static_cast<std::size_t>(example)]);
    }
    const auto tokens = static_cast<std::int64_t>(batch.size()) * longest;
    EXPECT_LE(tokens, options.tokens);
    padded += tokens;
  }
  EXPECT_EQ(seen.size(), lengths.size());
  EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), lengths.size());
  return static_cast<double>(padded) / std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

TEST(LengthBatchesTest, ShowEveryExampleOnceWithLittlePadding) {
  const std::vector<std::int32_t> lengths = random_lengths(3000);
  EXPECT_LT(padding_of(lengths, {.tokens = 4000, .seed = 1}), 1.05);
  // Unsorted, a batch is as long as its longest: nearly twice the mean.
  EXPECT_GT(padding_of(lengths, {.tokens = 4000, .pool = 1, .seed = 1}), 1.5);
  EXPECT_LT(padding_of({7}, {.tokens = 7}), 1.01);
}

TEST(LengthBatchesTest, SortEqualLengthsByTheSecond) {
  std::vector<std::int32_t> second = random_lengths(2000);
  LengthBatches batches(std::vector<std::int32_t>(second.size(), 500), {.tokens = 10000, .seed = 4}, second);
  std::int64_t padded = 0;
  for (std::int64_t number = 0; batches.epoch(number) == 0; ++number) {
    std::int32_t longest = 0;
    for (const std::int64_t example : batches.batch(number)) {
      longest = std::max(longest, second[static_cast<std::size_t>(example)]);
    }
    padded += static_cast<std::int64_t>(batches.batch(number).size()) * longest;
  }
  EXPECT_LT(static_cast<double>(padded) / std::accumulate(second.begin(), second.end(), 0.0), 1.05);
  test::expect_error(ErrorKind::kArgument, {"second", "found 1"}, [] { LengthBatches({3, 4}, {.tokens = 10}, {1}); });
}

TEST(LengthBatchesTest, KnowWhereAnEpochBegins) {
  LengthBatches batches(random_lengths(300), {.tokens = 4000, .seed = 9});
  EXPECT_EQ(batches.first_batch(0), 0);
  for (const std::int64_t epoch : {3, 1, 2}) {
    const std::int64_t first = batches.first_batch(epoch);
    EXPECT_EQ(batches.epoch(first), epoch);
    EXPECT_EQ(batches.epoch(first - 1), epoch - 1);
  }
  test::expect_error(ErrorKind::kArgument, {"epoch", "-1"}, [&] { batches.first_batch(-1); });
}

TEST(LengthBatchesTest, AreAFunctionOfSeedAndNumber) {
  const LengthBatchOptions options{.tokens = 4000, .rows = 12, .seed = 5};
  LengthBatches forward(random_lengths(500), options);
  std::vector<std::vector<std::int64_t>> seen;
  for (std::int64_t number = 0; number < 120; ++number) {
    seen.push_back(forward.batch(number));
    EXPECT_LE(seen.back().size(), 12U);
  }
  EXPECT_GE(forward.epoch(119), 2);
  LengthBatches jumping(random_lengths(500), options);
  for (const std::int64_t number : {119, 3, 60, 0}) {
    EXPECT_EQ(jumping.batch(number), seen[static_cast<std::size_t>(number)]);
  }
  LengthBatches other(random_lengths(500), {.tokens = 4000, .rows = 12, .seed = 6});
  EXPECT_NE(other.batch(0), seen[0]);
}

TEST(LengthBatchesTest, CutAWholeEpochInRandomOrderIntoFullBatches) {
  LengthBatches batches(random_lengths(65), {.tokens = 16000, .rows = 16, .pool = 0, .least = 2, .seed = 2});
  std::multiset<std::size_t> sizes;
  std::set<std::int64_t> seen;
  for (std::int64_t number = 0; batches.epoch(number) == 0; ++number) {
    sizes.insert(batches.batch(number).size());
    seen.insert(batches.batch(number).begin(), batches.batch(number).end());
  }
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{16, 16, 16, 17}));  // the last one of 65 joins a batch
  EXPECT_EQ(seen.size(), 65U);
  LengthBatches long_ones({9, 9, 9, 9}, {.tokens = 10, .pool = 0, .least = 2});
  EXPECT_EQ(long_ones.batch(0).size(), 2U);  // two, though the budget is for one
  EXPECT_EQ(long_ones.first_batch(1), 2);
}

TEST(LengthBatchesTest, RefuseWhatFitsNoBatch) {
  test::expect_error(ErrorKind::kArgument, {"at most 1", "at least 2"},
                     [] { LengthBatches({3, 3}, {.tokens = 10, .rows = 1, .least = 2}); });
  test::expect_error(ErrorKind::kArgument, {"example 1", "1 to 10", "found 11"},
                     [] { LengthBatches({3, 11}, {.tokens = 10}); });
  test::expect_error(ErrorKind::kArgument, {"example 0", "found 0"}, [] { LengthBatches({0}, {.tokens = 10}); });
  test::expect_error(ErrorKind::kArgument, {"at least one example"}, [] { LengthBatches({}, {}); });
}

}  // namespace
}  // namespace weft::data
