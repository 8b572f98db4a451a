// SPDX-License-Identifier: Apache-2.0
// The parts of the kernels on their own: softmax state, storage, dropout draws, and what validate() refuses.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <tuple>

#include "kernels/kernel_case.h"
#include "weft/kernels/softmax_state.h"

namespace weft::test {
namespace {

using kernels::SoftmaxState;
constexpr float kInfiniteScore = std::numeric_limits<float>::infinity();

TEST(SoftmaxState, SpansGiveTheSumOfAll) {
  SoftmaxState<double> state;
  std::array<double, 2> first{1.0, 3.0};
  std::array<double, 3> second{7.0, -std::numeric_limits<double>::infinity(), 2.0};
  EXPECT_EQ(state.update(first.data(), 2), 0.0);  // nothing was summed before
  EXPECT_NEAR(state.update(second.data(), 3), std::exp(3.0 - 7.0), 1e-15);
  EXPECT_EQ(second[1], 0.0);
  const double expected = std::log(std::exp(1.0) + std::exp(3.0) + std::exp(7.0) + std::exp(2.0));
  EXPECT_NEAR(state.log_sum_exp(), expected, 1e-14);
  EXPECT_NEAR(state.finish() * std::exp(-state.maximum), std::exp(-expected), 1e-15);
}

TEST(SoftmaxState, MergeIsTheSameAsOneState) {
  SoftmaxState<double> one, left, right;
  std::array<double, 4> all{0.5, -2.0, 4.0, 1.0};
  std::array<double, 4> parts = all;
  one.update(all.data(), 4);
  left.update(parts.data(), 2);
  right.update(parts.data() + 2, 2);
  const auto factors = left.merge(right);
  EXPECT_NEAR(left.log_sum_exp(), one.log_sum_exp(), 1e-15);
  EXPECT_NEAR(factors.other, 1.0, 1e-15);
  EXPECT_NEAR(factors.mine, std::exp(0.5 - 4.0), 1e-15);
}

TEST(SoftmaxState, WithoutEdgesIsZeroAndNeverNaN) {
  SoftmaxState<float> state;
  std::array<float, 2> none{-kInfiniteScore, -kInfiniteScore};
  EXPECT_FALSE(std::isnan(state.update(none.data(), 2)));
  EXPECT_EQ(none[0], 0.0F);
  EXPECT_EQ(state.finish(), 0.0F);
  EXPECT_EQ(state.log_sum_exp(), -kInfiniteScore);
  SoftmaxState<float> other;
  EXPECT_FALSE(std::isnan(state.merge(other).mine));
  EXPECT_EQ(state.log_sum_exp(), -kInfiniteScore);
}

TEST(Storage, BFloat16RoundsToNearestEven) {
  const auto rounded = [](float value) {
    std::uint16_t memory = 0;
    kernels::BFloat16Storage::store(&memory, value);
    return kernels::BFloat16Storage::load(&memory);
  };
  EXPECT_EQ(rounded(1.0F), 1.0F);
  EXPECT_EQ(rounded(1.0F + 1.0F / 256), 1.0F);  // a tie goes to the even neighbour
  EXPECT_EQ(rounded(1.0F + 3.0F / 256), 1.0F + 4.0F / 256);
  EXPECT_EQ(rounded(-kInfiniteScore), -kInfiniteScore);
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
}

void expect_draws_of_coordinates(DropoutDraws version) {
  const kernels::Dropout dropout{0.5F, {3, version}, 0};
  const auto draws = [](const kernels::Dropout& some, std::int64_t batch, std::int64_t head, std::int64_t query) {
    std::vector<bool> kept;
    kept.reserve(256);
    kernels::DropoutRow row(some, batch, head, query);
    for (std::int64_t key = 0; key < 256; ++key) {
      kept.push_back(row.keeps(key));
    }
    return kept;
  };
  const auto base = draws(dropout, 1, 2, 3);
  EXPECT_EQ(base, draws(dropout, 1, 2, 3));
  EXPECT_NE(base, draws(dropout, 2, 2, 3));
  EXPECT_NE(base, draws(dropout, 1, 1, 3));
  EXPECT_NE(base, draws(dropout, 1, 2, 4));
  EXPECT_NE(base, draws({0.5F, {4, version}, 0}, 1, 2, 3));
  EXPECT_NE(base, draws({0.5F, {3, version}, 1}, 1, 2, 3));
  kernels::DropoutRow backwards(dropout, 1, 2, 3);
  for (std::int64_t key = 255; key >= 0; --key) {
    EXPECT_EQ(backwards.keeps(key), base[static_cast<std::size_t>(key)]);
  }
}

TEST(Dropout, DrawsDependOnEveryCoordinateAndOnNothingElse) {
  expect_draws_of_coordinates(DropoutDraws::kFirst);
  expect_draws_of_coordinates(DropoutDraws::kSecond);
}

// Resumed runs and other devices draw the same: these are the bits of today, which no version may change.
TEST(Dropout, DrawsStayWhatTheyWere) {
  const auto bits = [](DropoutDraws version) {
    std::uint64_t kept = 0;
    kernels::DropoutRow row({0.5F, {0x123456789ABCDEF0, version}, 1}, 2, 3, 70000);
    for (std::int64_t key = 0; key < 64; ++key) {
      kept |= std::uint64_t{row.keeps(4096 + key) ? 1U : 0U} << key;
    }
    return kept;
  };
  EXPECT_EQ(bits(DropoutDraws::kFirst), 0xE3AAF10569961624U);
  EXPECT_EQ(bits(DropoutDraws::kSecond), 0x84E3AAAAA94EAEC6U);
}

// 32 keys of a query share four draws: each of the numbers must count once.
TEST(Dropout, NumbersOfADrawServeOneKeyEach) {
  std::set<std::tuple<std::int64_t, int, int>> taken;
  for (std::int64_t key = 0; key < 128; ++key) {
    taken.emplace(kernels::KeyDraws::draw_of(key), kernels::KeyDraws::word_of(key), kernels::KeyDraws::half_of(key));
    EXPECT_GE(kernels::KeyDraws::draw_of(key), kernels::KeyDraws::first_draw(key));
    EXPECT_LT(kernels::KeyDraws::draw_of(key), kernels::KeyDraws::end_draw(key + 1));
  }
  EXPECT_EQ(taken.size(), 128U);
  EXPECT_EQ(std::get<0>(*taken.rbegin()), 15);
}

// Pairs of entries that share a word, a draw, a key or a query are dropped together as often as chance has it, and so
// are those of neighbouring draws: 1e5 pairs each, five standard deviations.
TEST(Dropout, EntriesAreIndependent) {
  constexpr std::int64_t kQueries = 320;
  constexpr std::int64_t kKeys = 352;
  std::vector<int> dropped(static_cast<std::size_t>(kQueries * kKeys));
  for (std::int64_t query = 0; query < kQueries; ++query) {
    kernels::DropoutRow row({0.25F, 7, 0}, 1, 2, query);
    for (std::int64_t key = 0; key < kKeys; ++key) {
      dropped[static_cast<std::size_t>(query * kKeys + key)] = row.keeps(key) ? 0 : 1;
    }
  }
  for (const std::int64_t apart : {std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, std::int64_t{16},
                                   std::int64_t{24}, std::int64_t{32}, kKeys, kKeys + 1}) {
    std::int64_t both = 0;
    const std::int64_t pairs = kQueries * kKeys - apart;
    for (std::int64_t at = 0; at < pairs; ++at) {
      both += dropped[static_cast<std::size_t>(at)] & dropped[static_cast<std::size_t>(at + apart)];
    }
    EXPECT_NEAR(static_cast<double>(both) / static_cast<double>(pairs), 0.0625, 0.004) << apart;
  }
}

TEST(Dropout, KeepsTheShareItShould) {
  for (const DropoutDraws version : {DropoutDraws::kFirst, DropoutDraws::kSecond}) {
    std::int64_t kept = 0;
    for (std::int64_t query = 0; query < 100; ++query) {
      kernels::DropoutRow row({0.25F, {1, version}, 0}, 0, 0, query);
      for (std::int64_t key = 0; key < 1000; ++key) {
        kept += row.keeps(key) ? 1 : 0;
      }
    }
    EXPECT_NEAR(static_cast<double>(kept) / 1e5, 0.75, 0.007);  // five standard deviations of 1e5 draws
  }
  // Rounded to 2^-16, but neither to nothing nor to all.
  EXPECT_EQ(kernels::half_threshold(0.25F), -32768 + 16384);
  EXPECT_EQ(kernels::half_threshold(1e-9F), -32767);
  EXPECT_EQ(kernels::half_threshold(0.9999999F), 32767);
  EXPECT_TRUE(kernels::DropoutRow({0.0F, 1, 0}, 0, 0, 0).keeps(5));
  EXPECT_DOUBLE_EQ(kernels::DropoutRow({0.0F, 1, 0}, 0, 0, 0).multiplier(5), 1.0);
}

class Validate : public ::testing::Test {
 protected:
  void expect_refused(const char* words) {
    const char* problem = kernels::validate(arguments_);
    ASSERT_NE(problem, nullptr) << words;
    EXPECT_NE(std::strstr(problem, words), nullptr) << problem;
  }
  Float32Case case_{{1, 2, 1, 9, 9, 4, 4, {8, 8}}, mixed_edges, 1, kernels::DType::kFloat32};
  kernels::AttentionArguments arguments_ = case_.arguments();
};

TEST_F(Validate, AcceptsAGoodCall) { EXPECT_EQ(kernels::validate(arguments_), nullptr); }

TEST_F(Validate, RefusesShapes) {
  arguments_.key_heads = 3;
  expect_refused("key_heads");
  arguments_ = case_.arguments();
  arguments_.head_dim = 257;
  expect_refused("256");
  arguments_ = case_.arguments();
  arguments_.batch = -1;
  expect_refused("negative");
}

TEST_F(Validate, RefusesNullPointers) {
  arguments_.value.data = nullptr;
  expect_refused("key and value");
  arguments_ = case_.arguments();
  arguments_.output.data = nullptr;
  expect_refused("query and output");
  arguments_ = case_.arguments();
  arguments_.log_sum_exp = nullptr;
  expect_refused("log_sum_exp");
}

TEST_F(Validate, RefusesAForeignLayout) {
  arguments_.query_length = 10;
  expect_refused("other lengths");
  arguments_ = case_.arguments();
  arguments_.heads = 4;
  expect_refused("number of heads");
  arguments_ = case_.arguments();
  arguments_.layout = {};
  expect_refused("layout");
}

TEST_F(Validate, RefusesOptions) {
  arguments_.scale = std::numeric_limits<double>::quiet_NaN();
  expect_refused("scale");
  arguments_ = case_.arguments();
  arguments_.dropout.probability = 1.0F;
  expect_refused("dropout");
  const float score = 0.5F;
  arguments_ = case_.arguments();
  arguments_.distances = {.scores = &score, .span = 0};
  expect_refused("at least one entry");
  arguments_.distances = {.scores = &score, .rows = 3, .span = 1};
  expect_refused("one or two rows");
  const std::int32_t position = 0;
  arguments_ = case_.arguments();
  arguments_.positions = {.queries = &position};
  expect_refused("positions of queries need those of keys");
}

}  // namespace
}  // namespace weft::test
