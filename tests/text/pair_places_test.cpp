// SPDX-License-Identifier: Apache-2.0
// Where two texts stand, with one separator between them or two, and where one of them is empty.
#include "weft/text/pair_places.h"

#include <gtest/gtest.h>

namespace weft::text {
namespace {

PairPlaces places(std::vector<std::int64_t> texts) {
  Encoding window;
  window.ids.resize(texts.size(), 5);
  window.sequences = std::move(texts);
  return pair_places(window);
}

TEST(PairPlaces, AreThoseOfTheTextsTokens) {
  EXPECT_EQ(places({-1, 0, 0, -1, -1, 1, 1, 1, -1}), (PairPlaces{3, 5}));  // <s> a </s></s> b </s>
  EXPECT_EQ(places({-1, 0, 0, -1, 1, -1}), (PairPlaces{3, 4}));            // [CLS] a [SEP] b [SEP]
  EXPECT_EQ(places({0, 1}), (PairPlaces{1, 1}));
  EXPECT_EQ(places({-1, 0, 0, -1}), PairPlaces{});
  EXPECT_EQ(places({0, 0}), PairPlaces{});
  EXPECT_EQ(places({-1, -1}), PairPlaces{});
  EXPECT_EQ(places({}), PairPlaces{});
}

TEST(PairPlaces, OfEmptyTextsStandBetweenSpecialTokens) {
  EXPECT_EQ(places({-1, -1, -1, 1, -1}), (PairPlaces{1, 3}));
  EXPECT_EQ(places({-1, -1, 1, -1}), (PairPlaces{1, 2}));
  EXPECT_EQ(places({-1, 0, -1, -1, -1}), (PairPlaces{2, 4}));
  EXPECT_EQ(places({-1, 0, -1, -1}), (PairPlaces{2, 3}));
  EXPECT_EQ(places({-1, -1, -1, -1}), (PairPlaces{1, 3}));
}

}  // namespace
}  // namespace weft::text
