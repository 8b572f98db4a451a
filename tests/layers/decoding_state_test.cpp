// SPDX-License-Identifier: Apache-2.0
// The states of all layers as one: they count together, and a refusal changes none.
#include <gtest/gtest.h>

#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "support/expect_error.h"
#include "weft/attention/state/keys_and_values.h"
#include "weft/attention/state/running_sums.h"
#include "weft/layers/decoding_state.h"

namespace weft::layers {
namespace {

DecodingState two_layers(bool sums) {
  DecodingState::Layers layers;
  layers.push_back(std::make_unique<attention::KeysAndValues>(0));
  if (sums) {
    layers.push_back(std::make_unique<attention::RunningSums>(1));
  } else {
    layers.push_back(std::make_unique<attention::KeysAndValues>(1));
  }
  return DecodingState(std::move(layers));
}

void take(DecodingState& state, const at::Tensor& tokens) {
  state.layer(0).append(tokens, tokens);
  state.layer(1).append(tokens, tokens);
  state.advance(tokens.size(2));
}

TEST(DecodingState, CountsWhatEveryLayerHas) {
  DecodingState state = two_layers(false);
  const at::Tensor tokens = at::randn({1, 2, 3, 4});
  state.layer(0).append(tokens, tokens);
  test::expect_error(ErrorKind::kArgument, {"layer 1", "3 tokens"}, [&] { state.advance(3); });
  EXPECT_EQ(state.layer(0).length(), 0);
  take(state, tokens);
  EXPECT_EQ(state.length(), 3);
  EXPECT_EQ(state.layer(0).length(), 3);
  EXPECT_EQ(state.bytes(), 2 * state.layer(0).bytes());
  test::expect_error(ErrorKind::kArgument, {"2 layers", "layer 2"}, [&] { state.layer(2); });
  state.truncate(1);
  EXPECT_EQ(state.layer(1).length(), 1);
  test::expect_error(ErrorKind::kArgument, {"1", "2"}, [&] { state.truncate(2); });
}

TEST(DecodingState, ARefusedCutChangesNoLayer) {
  DecodingState state = two_layers(true);
  take(state, at::randn({1, 2, 3, 4}));
  test::expect_error(ErrorKind::kUnsupported, {"layer 1", "3 tokens to 2"}, [&] { state.truncate(2); });
  EXPECT_EQ(state.length(), 3);
  EXPECT_EQ(state.layer(0).length(), 3);
  state.truncate(0);
  EXPECT_EQ(state.layer(0).length() + state.layer(1).length(), 0);
}

DecodingState of_layers(std::size_t count) {
  DecodingState::Layers layers;
  for (std::size_t layer = 0; layer < count; ++layer) {
    layers.push_back(std::make_unique<attention::KeysAndValues>(static_cast<std::int64_t>(layer)));
  }
  return DecodingState(std::move(layers));
}

TEST(DecodingState, IsLoadedInAnyOrder) {
  DecodingState state = of_layers(11);
  for (std::int64_t layer = 0; layer < 11; ++layer) {
    state.layer(layer).append(at::randn({2, 1, 3, 4}), at::randn({2, 1, 3, 4}));
  }
  state.advance(3);
  const attention::NamedTensors saved = state.save();
  attention::NamedTensors reversed = saved;
  std::reverse(reversed.begin(), reversed.end());
  DecodingState other = of_layers(11);
  other.load(reversed);
  const attention::NamedTensors found = other.save();
  ASSERT_EQ(found.size(), saved.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, saved[i].first);
    EXPECT_TRUE(found[i].second.equal(saved[i].second)) << found[i].first;
  }
  for (const char* name : {"layers.11.keys", "layers.01.keys", "layers.x.keys", "layers.", "keys", "length"}) {
    attention::NamedTensors more = saved;
    more.emplace_back(name, saved[1].second);
    test::expect_error(ErrorKind::kFormat, {"11 layers", name}, [&] { other.load(more); });
  }
}

TEST(DecodingState, ARefusedLoadChangesNoLayer) {
  DecodingState state = two_layers(true);
  take(state, at::randn({1, 2, 3, 4}));
  const attention::NamedTensors held = state.save();
  DecodingState longer = two_layers(true);
  take(longer, at::randn({2, 2, 5, 4}));
  attention::NamedTensors wrong = longer.save();
  wrong[3].second = wrong[3].second.to(at::kLong);
  test::expect_error(ErrorKind::kFormat, {"layer 1", "sums"}, [&] { state.load(wrong); });
  wrong[3].second = held[3].second;
  test::expect_error(ErrorKind::kFormat, {"layer 1", "2 rows"}, [&] { state.load(wrong); });
  wrong[0].second = at::scalar_tensor(std::int64_t{1} << 50, at::kLong);
  test::expect_error(ErrorKind::kFormat, {"length"}, [&] { state.load(wrong); });
  EXPECT_EQ(state.length(), 3);
  const attention::NamedTensors found = state.save();
  for (std::size_t i = 0; i < held.size(); ++i) {
    EXPECT_TRUE(found[i].second.equal(held[i].second)) << held[i].first;
  }
  take(state, at::randn({1, 2, 1, 4}));
  state.layer(0).append(at::randn({1, 2, 1, 4}), at::randn({1, 2, 1, 4}));
  state.layer(0).advance();
  test::expect_error(ErrorKind::kArgument, {"layer 0", "5", "4"}, [&] { state.advance(0); });
}

TEST(DecodingState, IsSavedByName) {
  DecodingState state = two_layers(true);
  take(state, at::randn({1, 2, 3, 4}));
  const attention::NamedTensors saved = state.save();
  ASSERT_EQ(saved.size(), 4U);
  EXPECT_EQ(saved[0].first, "length");
  EXPECT_EQ(saved[1].first, "layers.0.keys");
  EXPECT_EQ(saved[3].first, "layers.1.sums");
  DecodingState other = two_layers(true);
  other.load(saved);
  EXPECT_EQ(other.length(), 3);
  EXPECT_EQ(other.layer(1).length(), 3);
  other.load(two_layers(true).save());
  EXPECT_EQ(other.length(), 0);
  test::expect_error(ErrorKind::kFormat, {"layer 1"}, [&] { two_layers(false).load(saved); });
  test::expect_error(ErrorKind::kFormat, {"2 layers"}, [&] { two_layers(true).load({saved[1]}); });
  test::expect_error(ErrorKind::kFormat, {"layer 0"}, [&] { two_layers(true).load({saved[0], saved[1], saved[1]}); });
}

}  // namespace
}  // namespace weft::layers
