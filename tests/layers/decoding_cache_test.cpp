// SPDX-License-Identifier: Apache-2.0
// The key/value cache: contents, growth, misuse.
#include <gtest/gtest.h>

#include <ATen/ops/randn.h>

#include "support/expect_error.h"
#include "weft/layers/decoding_cache.h"

namespace weft::layers {
namespace {

TEST(DecodingCache, ReturnsEverythingAppended) {
  const at::Tensor keys = at::randn({2, 3, 200, 4});
  const at::Tensor values = at::randn({2, 3, 200, 4});
  DecodingCache cache;
  std::int64_t at = 0;
  for (const std::int64_t count : {1, 70, 1, 1, 127}) {
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      const auto [all_keys, all_values] = cache.append(layer, keys.narrow(2, at, count), values.narrow(2, at, count));
      EXPECT_TRUE(all_keys.equal(keys.narrow(2, 0, at + count)));
      EXPECT_TRUE(all_values.equal(values.narrow(2, 0, at + count)));
    }
    cache.advance(count);
    at += count;
    EXPECT_EQ(cache.length(), at);
  }
}

TEST(DecodingCache, GrowsGeometrically) {
  DecodingCache cache;
  const at::Tensor token = at::randn({1, 1, 1, 8});
  std::size_t growths = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::size_t before = cache.bytes();
    cache.append(0, token, token);
    cache.advance(1);
    growths += cache.bytes() != before ? 1U : 0U;
  }
  EXPECT_LE(growths, 8U);  // 64, 128, ... 8192
  EXPECT_LE(cache.bytes(), 2U * 8192U * 8U * 4U);
}

TEST(DecodingCache, TruncatesAndStartsOver) {
  DecodingCache cache;
  const at::Tensor first = at::randn({1, 1, 5, 2});
  cache.append(0, first, first);
  cache.advance(5);
  cache.truncate(3);
  const at::Tensor more = at::randn({1, 1, 1, 2});
  const auto [keys, values] = cache.append(0, more, more);
  EXPECT_TRUE(keys.narrow(2, 0, 3).equal(first.narrow(2, 0, 3)));
  EXPECT_TRUE(keys.narrow(2, 3, 1).equal(more));
  cache.truncate(0);
  const at::Tensor other_batch = at::randn({4, 1, 2, 2});
  EXPECT_EQ(cache.append(0, other_batch, other_batch).first.size(0), 4);
}

TEST(DecodingCache, RefusesWhatDoesNotFit) {
  DecodingCache cache;
  const at::Tensor tokens = at::randn({1, 2, 3, 4});
  cache.append(0, tokens, tokens);
  cache.advance(3);
  const auto append = [&](const at::Tensor& added, std::int64_t layer = 0) {
    return [&cache, added, layer] { cache.append(layer, added, added); };
  };
  test::expect_error(ErrorKind::kArgument, {"layer 0", "[2, 2, 1, 4]"}, append(at::randn({2, 2, 1, 4})));
  test::expect_error(ErrorKind::kArgument, {"Float", "Double"}, append(tokens.to(at::kDouble)));
  test::expect_error(ErrorKind::kArgument, {"layer 1", "3 tokens"}, append(tokens, 1));
  test::expect_error(ErrorKind::kArgument, {"3", "4"}, [&] { cache.truncate(4); });
}

}  // namespace
}  // namespace weft::layers
