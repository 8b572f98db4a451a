// SPDX-License-Identifier: Apache-2.0
// Rows in, padded batches out.
#include "weft/fine_tuning/encoded_rows.h"

#include <torch/types.h>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

text::Encoding encoding_of(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& types) {
  text::Encoding encoding;
  encoding.ids = ids;
  encoding.type_ids = types;
  return encoding;
}

TEST(EncodedRows, ArePaddedToTheLongestOfABatch) {
  EncodedRows rows;
  rows.add(encoding_of({5, 6, 7}, {0, 0, 1}));
  rows.add(encoding_of({8}, {0}));
  rows.add(encoding_of({9, 10}, {1, 1}));
  EXPECT_EQ(rows.size(), 3);
  EXPECT_EQ(rows.tokens(), 6);
  const std::vector<TokenRow> chosen = {rows.row(2), rows.row(0)};
  const models::EncoderInput input = padded(chosen, {.id = 4, .token_types = true});
  EXPECT_TRUE(input.input_ids.equal(torch::tensor({{9, 10, 4}, {5, 6, 7}}, torch::kLong)));
  EXPECT_TRUE(input.attention_mask.equal(torch::tensor({{1, 1, 0}, {1, 1, 1}}, torch::kLong)));
  EXPECT_TRUE(input.token_type_ids.equal(torch::tensor({{1, 1, 0}, {0, 0, 1}}, torch::kLong)));
  const std::vector<TokenRow> one = {rows.row(1)};
  EXPECT_EQ(padded(one, {.id = 4, .token_types = false}).input_ids.size(1), 1);
  EXPECT_FALSE(padded(one, {.id = 4, .token_types = false}).token_type_ids.defined());
}

TEST(EncodedRows, GlobalTokensAreMarkedWhereARowHasSome) {
  EncodedRows rows;
  const std::vector<std::int64_t> globals = {0, 2};
  rows.add(encoding_of({8}, {0}));
  rows.add(encoding_of({5, 6, 7}, {0, 0, 1}), globals);
  EXPECT_EQ(rows.row(1).globals, globals);
  EXPECT_TRUE(rows.row(0).globals.empty());
  const std::vector<TokenRow> both = {rows.row(0), rows.row(1)};
  const models::EncoderInput input = padded(both, {.id = 4, .token_types = true});
  EXPECT_TRUE(input.global_attention_mask.equal(torch::tensor({{0, 0, 0}, {1, 0, 1}}, torch::kLong)));
  const std::vector<TokenRow> plain = {rows.row(0)};
  EXPECT_FALSE(padded(plain, {.id = 4, .token_types = true}).global_attention_mask.defined());
  EncodedRows without;
  without.add(encoding_of({8}, {0}));
  without.add(encoding_of({5, 6, 7}, {0, 0, 1}));
  EXPECT_NE(without.fingerprint(), rows.fingerprint());
}

TEST(EncodedRows, AreTheSameWhereTheyLieInAFile) {
  EncodedRows memory;
  EncodedRows file(1000);
  for (std::int64_t row = 0; row < 3000; ++row) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(1 + row % 900));
    std::vector<std::int64_t> types(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = row * 31 + static_cast<std::int64_t>(i);
      types[i] = static_cast<std::int64_t>(i) % 2;
    }
    const std::vector<std::int64_t> globals = {row % 2};
    memory.add(encoding_of(ids, types), globals);
    file.add(encoding_of(ids, types), globals);
  }
  EXPECT_EQ(file.fingerprint(), memory.fingerprint());
  EXPECT_EQ(file.tokens(), memory.tokens());
  for (std::int64_t row = 2999; row >= 0; row -= 37) {
    EXPECT_EQ(file.row(row).ids, memory.row(row).ids) << row;
    EXPECT_EQ(file.row(row).types, memory.row(row).types) << row;
    EXPECT_EQ(file.row(row).globals, memory.row(row).globals) << row;
  }
}

TEST(EncodedRows, AFingerprintKnowsEveryToken) {
  EncodedRows first;
  first.add(encoding_of({1, 2}, {0, 0}));
  first.add(encoding_of({3}, {0}));
  EncodedRows cut_elsewhere;
  cut_elsewhere.add(encoding_of({1}, {0}));
  cut_elsewhere.add(encoding_of({2, 3}, {0, 0}));
  EncodedRows same(0);
  same.add(encoding_of({1, 2}, {0, 0}));
  same.add(encoding_of({3}, {0}));
  EXPECT_EQ(same.fingerprint(), first.fingerprint());
  EXPECT_NE(cut_elsewhere.fingerprint(), first.fingerprint());
  test::expect_error(ErrorKind::kArgument, {"row 2", "empty text"}, [&] { first.add(encoding_of({}, {})); });
}

}  // namespace
}  // namespace weft::fine_tuning
