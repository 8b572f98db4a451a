// SPDX-License-Identifier: Apache-2.0
// Parts come back as they were, from memory and from a file.
#include "weft/fine_tuning/open_answers/stored_parts.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::fine_tuning {
namespace {

RowPart numbered_part(std::size_t number) {
  RowPart part{.text = std::string(number % 7, static_cast<char>('a' + number % 26)),
               .begin = static_cast<std::int64_t>(number) * 3,
               .from = static_cast<std::int64_t>(number) * 5};
  for (std::size_t token = 0; token < number % 11; ++token) {
    part.bytes.push_back({static_cast<std::int64_t>(token), static_cast<std::int64_t>(token + number)});
    if (number % 2 == 0) {
      part.words.push_back(static_cast<std::int32_t>(token * number));
    }
  }
  return part;
}

TEST(StoredParts, ComeBackAsTheyWere) {
  constexpr std::size_t kCount = 20000;
  for (const std::size_t most : {std::size_t{0}, std::size_t{100'000}, std::size_t{1} << 30}) {
    StoredParts stored(most);
    for (std::size_t number = 0; number < kCount; ++number) {
      stored.add(numbered_part(number));
    }
    ASSERT_EQ(stored.size(), kCount);
    for (std::size_t turn = 0; turn < kCount; turn += 7) {
      const std::size_t number = turn * 13 % kCount;
      const RowPart expected = numbered_part(number);
      const RowPart found = stored.part(number);
      ASSERT_EQ(found.text, expected.text) << number;
      ASSERT_EQ(found.begin, expected.begin) << number;
      ASSERT_EQ(found.from, expected.from) << number;
      ASSERT_EQ(found.words, expected.words) << number;
      ASSERT_EQ(found.bytes.size(), expected.bytes.size()) << number;
      for (std::size_t token = 0; token < found.bytes.size(); ++token) {
        ASSERT_EQ(found.bytes[token].begin, expected.bytes[token].begin) << number;
        ASSERT_EQ(found.bytes[token].end, expected.bytes[token].end) << number;
      }
      ASSERT_EQ(stored.text(number), expected.text) << number;
    }
    test::expect_error(ErrorKind::kArgument, {"window 20000", "there are 20000"}, [&] { stored.part(kCount); });
  }
}

}  // namespace
}  // namespace weft::fine_tuning
