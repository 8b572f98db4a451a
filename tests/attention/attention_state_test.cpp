// SPDX-License-Identifier: Apache-2.0
// What a layer remembers: contents, growth, rows, ends, misuse.
#include <gtest/gtest.h>

#include <cmath>

#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <torch/utils.h>

#include "support/expect_error.h"
#include "weft/attention/state/keys_and_values.h"
#include "weft/attention/state/running_sums.h"
#include "weft/attention/state/whole_text.h"

namespace weft::attention {
namespace {

void take(AttentionState& state, const at::Tensor& keys, const at::Tensor& values) {
  state.append(keys, values);
  state.advance();
}

TEST(KeysAndValues, HoldsEverythingAppended) {
  const at::Tensor keys = at::randn({2, 3, 200, 4});
  const at::Tensor values = at::randn({2, 3, 200, 4});
  KeysAndValues state;
  std::int64_t at = 0;
  for (const std::int64_t count : {1, 70, 1, 1, 127}) {
    state.append(keys.narrow(2, at, count), values.narrow(2, at, count));
    EXPECT_EQ(state.length(), at) << "not before they count";
    EXPECT_TRUE(state.keys(at + count).equal(keys.narrow(2, 0, at + count)));
    EXPECT_TRUE(state.values(at + count).equal(values.narrow(2, 0, at + count)));
    state.advance();
    at += count;
    EXPECT_EQ(state.length(), at);
  }
}

TEST(KeysAndValues, GrowsGeometrically) {
  KeysAndValues state;
  const at::Tensor token = at::randn({1, 1, 1, 8});
  std::size_t growths = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t before = state.bytes();
    take(state, token, token);
    growths += state.bytes() != before ? 1U : 0U;
  }
  EXPECT_LE(growths, 8U);  // 64, 128, ... 8192
  EXPECT_LE(state.bytes(), 2U * 8192U * 8U * 4U);
}

TEST(KeysAndValues, TruncatesAndStartsOver) {
  KeysAndValues state;
  const at::Tensor first = at::randn({1, 1, 5, 2});
  take(state, first, first);
  state.truncate(3);
  const at::Tensor more = at::randn({1, 1, 1, 2});
  take(state, more, more);
  EXPECT_TRUE(state.keys(4).narrow(2, 0, 3).equal(first.narrow(2, 0, 3)));
  EXPECT_TRUE(state.keys(4).narrow(2, 3, 1).equal(more));
  state.truncate(0);
  const at::Tensor other_batch = at::randn({4, 1, 2, 2});
  take(state, other_batch, other_batch);
  EXPECT_EQ(state.keys(2).size(0), 4);
}

TEST(KeysAndValues, RefusesWhatDoesNotFit) {
  KeysAndValues state(5);
  const at::Tensor tokens = at::randn({1, 2, 3, 4});
  take(state, tokens, tokens);
  const auto append = [&](const at::Tensor& added) { return [&state, added] { state.append(added, added); }; };
  test::expect_error(ErrorKind::kArgument, {"layer 5", "[2, 2, 1, 4]"}, append(at::randn({2, 2, 1, 4})));
  test::expect_error(ErrorKind::kArgument, {"Float", "Double"}, append(tokens.to(at::kDouble)));
  test::expect_error(ErrorKind::kArgument, {"3", "4"}, [&] { state.truncate(4); });
  KeysAndValues empty(1);
  for (const at::Tensor& values : {at::randn({1, 2, 2, 4}), at::randn({2, 2, 3, 4}), at::randn({2, 3, 4})}) {
    for (KeysAndValues* each : {&state, &empty}) {
      test::expect_error(ErrorKind::kArgument, {"keys and values", "[1, 2, 3, 4]"},
                         [&] { each->append(tokens, values); });
    }
  }
  EXPECT_EQ(state.length() + state.pending(), 3);
}

TEST(RunningSums, SumOuterProducts) {
  const at::Tensor keys = at::randn({2, 3, 90, 4});
  const at::Tensor values = at::randn({2, 3, 90, 5});
  RunningSums state;
  EXPECT_FALSE(state.sums().defined());
  take(state, keys.narrow(2, 0, 60), values.narrow(2, 0, 60));
  const std::size_t bytes = state.bytes();
  take(state, keys.narrow(2, 60, 30), values.narrow(2, 60, 30));
  EXPECT_EQ(state.length(), 90);
  EXPECT_EQ(state.bytes(), bytes) << "whatever came before";
  EXPECT_TRUE(at::allclose(state.sums(), at::matmul(keys.transpose(2, 3), values), 1e-4, 1e-4));
}

TEST(RunningSums, WhatDoesNotCountYetChangesNothing) {
  const at::Tensor tokens = at::randn({1, 2, 3, 4});
  RunningSums state(2);
  take(state, tokens, tokens);
  const at::Tensor held = state.sums().clone();
  state.append(tokens, tokens);
  EXPECT_TRUE(state.sums().equal(held));
  state.append(tokens.narrow(2, 0, 1), tokens.narrow(2, 0, 1));  // a call again
  state.advance();
  EXPECT_EQ(state.length(), 4);
  test::expect_error(ErrorKind::kArgument, {"layer 2", "[2, 2, 4, 4]"},
                     [&] { state.append(at::randn({2, 2, 1, 4}), at::randn({2, 2, 1, 4})); });
}

TEST(KeysAndValues, LoadsOnlyWhatFitsTogether) {
  const at::Tensor keys = at::randn({1, 2, 3, 4});
  const auto load = [&](const at::Tensor& values) {
    return [keys, values] { KeysAndValues().load({{"values", values}, {"keys", keys}}, 3); };
  };
  EXPECT_NO_THROW(load(at::randn({1, 2, 3, 5}))());
  test::expect_error(ErrorKind::kFormat, {"3 tokens"}, load(at::randn({2, 2, 3, 4})));
  test::expect_error(ErrorKind::kFormat, {"Float", "Double"}, load(keys.to(at::kDouble)));
}

// Sums that are divided by exp(level), which rises by 1 with the second tokens.
TEST(RunningSums, ALevelGoesWithItsSums) {
  const at::Tensor tokens = at::randn({2, 3, 4, 5}, at::kDouble);
  const auto level = [](double number) { return at::full({2, 3, 1, 1}, number, at::kDouble); };
  RunningSums state;
  state.append(tokens, tokens, {.kept = {}, .level = level(2)});
  EXPECT_FALSE(state.level().defined()) << "not before they count";
  state.advance();
  state.append(tokens, tokens, {.kept = level(-1).exp(), .level = level(3)});
  EXPECT_TRUE(state.level().equal(level(2)));
  state.advance();
  const at::Tensor own = at::matmul(tokens.transpose(2, 3), tokens);
  EXPECT_TRUE(at::allclose(state.sums(), own * (1 + std::exp(-1.0))));
  state.reorder(at::tensor({1}, at::kLong));
  EXPECT_TRUE(state.level().equal(level(3).narrow(0, 0, 1)));
  RunningSums loaded;
  loaded.load(state.save(), state.length());
  EXPECT_TRUE(loaded.level().equal(state.level()));
  EXPECT_EQ(loaded.bytes(), state.bytes());
  test::expect_error(ErrorKind::kFormat, {"`level` [batch, heads, 1, 1]"},
                     [&] { loaded.load({{"sums", state.sums()}, {"level", level(3)}}, 8); });
  state.truncate(0);
  EXPECT_FALSE(state.level().defined());
}

TEST(RunningSums, CannotForgetSingleTokens) {
  const at::Tensor tokens = at::randn({1, 2, 9, 4});
  RunningSums state(2);
  take(state, tokens, tokens);
  test::expect_error(ErrorKind::kUnsupported, {"layer 2", "cannot cut 9 tokens to 5", "sums"},
                     [&] { state.truncate(5); });
  test::expect_error(ErrorKind::kArgument, {"9", "10"}, [&] { state.truncate(10); });
  state.truncate(9);
  EXPECT_EQ(state.length(), 9);
  state.truncate(0);
  EXPECT_FALSE(state.sums().defined());
}

template <typename State>
class AnyState : public ::testing::Test {};
using States = ::testing::Types<KeysAndValues, RunningSums>;
TYPED_TEST_SUITE(AnyState, States);

// More rows than before, as many of which some change places, and as many that all stay.
TYPED_TEST(AnyState, RowsGoOnFromOthers) {
  for (const at::Tensor& rows : {at::tensor({2, 0, 0, 1}, at::kLong), at::tensor({2, 1, 0}, at::kLong),
                                 at::tensor({1, 2, 2}, at::kLong), at::tensor({0, 1, 2}, at::kLong)}) {
    const at::Tensor tokens = at::randn({3, 2, 7, 4});
    TypeParam state;
    take(state, tokens, tokens);
    state.reorder(rows);
    TypeParam expected;
    take(expected, tokens.index_select(0, rows), tokens.index_select(0, rows));
    const at::Tensor more = at::randn({rows.size(0), 2, 1, 4});
    take(state, more, more);
    take(expected, more, more);
    const NamedTensors found = state.save();
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].second.equal(expected.save()[i].second));
    }
  }
}

// Chains, circles, and rows that several read, in place.
TYPED_TEST(AnyState, AnyRowsGoOnFromAnyOthers) {
  torch::manual_seed(17);
  for (std::int64_t trial = 0; trial < 40; ++trial) {
    const at::Tensor rows =
        trial % 2 == 0 ? at::randperm(9) : at::randint(9, {9}, at::TensorOptions().dtype(at::kLong));
    const at::Tensor tokens = at::randn({9, 2, 5, 3});
    TypeParam state;
    TypeParam expected;
    take(state, tokens, tokens);
    state.reorder(rows);
    take(expected, tokens.index_select(0, rows), tokens.index_select(0, rows));
    const NamedTensors found = state.save();
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].second.equal(expected.save()[i].second)) << rows;
    }
  }
}

TYPED_TEST(AnyState, WhatDoesNotCountYetGoesAlong) {
  const at::Tensor tokens = at::randn({3, 2, 7, 4}).requires_grad_();
  const at::Tensor rows = at::tensor({2, 0, 1}, at::kLong);
  for (const std::int64_t before : {0, 5}) {
    const auto filled = [&](const at::Tensor& from) {
      TypeParam state;
      take(state, from.narrow(2, 0, before), from.narrow(2, 0, before));
      state.append(from.narrow(2, before, 2), from.narrow(2, before, 2));
      return state;
    };
    TypeParam state = filled(tokens);
    state.reorder(rows);
    state.detach();
    state.advance();
    TypeParam expected = filled(tokens.index_select(0, rows));
    expected.advance();
    EXPECT_EQ(state.length(), before + 2);
    EXPECT_TRUE(state.save()[0].second.equal(expected.save()[0].second));
    EXPECT_FALSE(state.save()[0].second.requires_grad());
    TypeParam cut = filled(tokens);
    cut.truncate(before);
    EXPECT_EQ(cut.pending(), 0);
    cut.advance();
    EXPECT_EQ(cut.length(), before);
  }
}

TYPED_TEST(AnyState, RefusesRowsOutsideTheBatch) {
  const at::Tensor tokens = at::randn({3, 2, 7, 4});
  TypeParam state(4);
  take(state, tokens, tokens);
  for (const at::Tensor& rows : {at::tensor({0, 3}, at::kLong), at::tensor({-1, 0}, at::kLong),
                                 at::tensor({0, 1}, at::kInt), at::tensor({0, 1}, at::kLong).unsqueeze(0)}) {
    test::expect_error(ErrorKind::kArgument, {"layer 4", "rows"}, [&] { state.reorder(rows); });
  }
}

TYPED_TEST(AnyState, WhatIsSavedIsLoaded) {
  const at::Tensor tokens = at::randn({2, 2, 7, 4});
  TypeParam state;
  EXPECT_TRUE(state.save().empty());
  take(state, tokens, tokens);
  const NamedTensors saved = state.save();
  TypeParam other;
  other.load(saved, 7);
  const at::Tensor more = at::randn({2, 2, 3, 4});
  take(state, more, more);
  take(other, more, more);
  EXPECT_EQ(other.length(), 10);
  const NamedTensors found = other.save();
  ASSERT_EQ(found.size(), saved.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, saved[i].first);
    EXPECT_TRUE(found[i].second.equal(state.save()[i].second));
  }
  EXPECT_TRUE(other.save()[0].second.equal(found[0].second));
  other.load({}, 0);
  EXPECT_EQ(other.length(), 0);
  test::expect_error(ErrorKind::kFormat, {"expected"}, [&] { other.load({{"bucket", tokens}}, 7); });
  test::expect_error(ErrorKind::kFormat, {"expected"}, [&] { other.load({}, 7); });
  NamedTensors whole = saved;
  for (auto& [name, tensor] : whole) {
    tensor = tensor.to(at::kLong);
  }
  test::expect_error(ErrorKind::kFormat, {"expected"}, [&] { other.load(whole, 7); });
}

TYPED_TEST(AnyState, DetachCutsTheGraph) {
  const at::Tensor tokens = at::randn({2, 2, 7, 4}).requires_grad_();
  TypeParam state;
  take(state, tokens, tokens);
  EXPECT_TRUE(state.save()[0].second.requires_grad());
  state.detach();
  EXPECT_FALSE(state.save()[0].second.requires_grad());
}

TEST(WholeText, KeepsIds) {
  WholeText text;
  EXPECT_TRUE(is_whole_text(text));
  EXPECT_FALSE(is_whole_text(KeysAndValues()));
  EXPECT_TRUE(text.save().empty());
  const at::Tensor ids = at::randint(1 << 20, {3, 100}, at::kLong);
  text.append_ids(ids.narrow(1, 0, 70));
  text.advance();
  text.append_ids(ids.narrow(1, 70, 30));
  EXPECT_TRUE(text.ids(100).equal(ids));
  text.advance();
  const auto loaded = text.fresh();
  loaded->load(text.save(), 100);
  text.reorder(at::tensor({2, 2}, at::kLong));
  EXPECT_TRUE(text.ids(100).equal(ids.index_select(0, at::tensor({2, 2}, at::kLong))));
  text.truncate(7);
  EXPECT_EQ(text.ids(7).size(1), 7);
  EXPECT_TRUE(state_as<WholeText>(*loaded).ids(100).equal(ids));
  test::expect_error(ErrorKind::kFormat, {"`ids`", "99"}, [&] { loaded->load({{"ids", ids}}, 99); });
  test::expect_error(ErrorKind::kFormat, {"`ids`"}, [&] { loaded->load({{"keys", ids}}, 100); });
  test::expect_error(ErrorKind::kUnsupported, {"last 5 tokens"}, [&] { text.limit(5); });
  loaded->load({}, 0);
  EXPECT_EQ(loaded->length(), 0);
}

}  // namespace
}  // namespace weft::attention
