// SPDX-License-Identifier: Apache-2.0
// Texts that fit, texts that do not, and what becomes of their tokens.
#include "weft/tasks/documents.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace weft::tasks {
namespace {

using test::expect_error;

const text::HuggingFaceTokenizer& bert() {
  static const text::HuggingFaceTokenizer tokenizer(std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers" / "bert");
  return tokenizer;
}

constexpr const char* kEight = "the loom said hello the loom said hello";

TEST(EncodeDocument, WhatFitsIsWhole) {
  const EncodedDocument encoded = encode_document(bert(), {kEight}, {.maximum = 10});
  EXPECT_EQ(encoded.tokens, 10);
  EXPECT_EQ(encoded.windows.size(), 1U);
  EXPECT_EQ(encoded.left_out, 0);
  EXPECT_EQ(encode_document(bert(), {""}, {.maximum = 10}).tokens, 2);
  EXPECT_EQ(encode_document(bert(), {" \n\t "}, {.maximum = 10}).tokens, 2);
}

TEST(EncodeDocument, WhatDoesNotFitIsAnErrorUnlessAllowed) {
  const Document document{kEight, {}, "line 7"};
  expect_error(ErrorKind::kArgument, {"line 7", "10 tokens", "at most 9"},
               [&] { encode_document(bert(), document, {.maximum = 9}); });
  const EncodedDocument cut = encode_document(bert(), document, {.maximum = 9, .overflow = Overflow::kTruncate});
  EXPECT_EQ(cut.windows.size(), 1U);
  EXPECT_EQ(cut.left_out, 1);
  EXPECT_EQ(cut.windows.front().ids.size(), 9U);
}

TEST(EncodeDocument, WindowsCoverAllOfADocumentAndTheWholeQuestion) {
  const Document document{"we see", kEight, "story"};
  const LengthRule rule{
      .maximum = 9, .stride = 2, .overflow = Overflow::kWindows, .side = text::Truncation::kOnlySecond};
  const EncodedDocument encoded = encode_document(bert(), document, rule);
  EXPECT_EQ(encoded.left_out, 0);
  EXPECT_EQ(encoded.windows.size(), 3U);
  std::set<std::int64_t> places;
  for (const text::Encoding& window : encoded.windows) {
    EXPECT_LE(window.ids.size(), 9U);
    EXPECT_EQ(window.ids[1], encoded.windows.front().ids[1]);
    for (std::size_t token = 0; token < window.ids.size(); ++token) {
      if (window.sequences[token] == 1) {
        places.insert(window.offsets[token].begin);
      }
    }
  }
  EXPECT_EQ(places.size(), 8U);
}

TEST(EncodeDocument, AQuestionThatLeavesNoRoom) {
  const Document document{kEight, "the loom", "story"};
  const LengthRule rule{
      .maximum = 10, .stride = 0, .overflow = Overflow::kWindows, .side = text::Truncation::kOnlySecond};
  expect_error(ErrorKind::kArgument, {"story: the text in front of it", "of the 10 tokens", "but windows share 0"},
               [&] { encode_document(bert(), document, rule); });
  expect_error(ErrorKind::kArgument, {"story", "room"}, [&] {
    encode_document(bert(), {kEight, {}, "story"}, {.maximum = 5, .stride = 3, .overflow = Overflow::kWindows});
  });
}

}  // namespace
}  // namespace weft::tasks
