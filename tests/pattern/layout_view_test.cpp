// SPDX-License-Identifier: Apache-2.0
// Addresses in a layout's arrays where they no longer fit in 32 bits.
#include <gtest/gtest.h>

#include "weft/pattern/layout_view.h"

namespace weft::pattern {
namespace {

TEST(LayoutView, ManyMasksAreCountedInSixtyFourBits) {
  const std::uint64_t word = 0;
  const float weight = 0;
  LayoutView view{};
  view.tile_query = 64;
  view.tile_key = 64;
  view.mask_bits = &word;
  view.log_weight = &weight;
  // No memory is touched: 16 GiB of masks would lie there.
  const auto bytes = [](const void* to, const void* from) {
    return reinterpret_cast<std::intptr_t>(to) - reinterpret_cast<std::intptr_t>(from);
  };
  constexpr std::int32_t kMany = 1 << 25;
  EXPECT_EQ(bytes(view.mask(kMany), &word), std::int64_t{kMany} * 64 * 8);
  EXPECT_EQ(bytes(view.weight(weighted_kind(kMany)), &weight), std::int64_t{kMany} * 64 * 64 * 4);
}

}  // namespace
}  // namespace weft::pattern
