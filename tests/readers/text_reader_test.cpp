// SPDX-License-Identifier: Apache-2.0
// Text and JSON lines as records, whole and malformed, and several files as one.
#include "weft/readers/text_reader.h"

#include <memory>

#include <gtest/gtest.h>

#include "readers/reading.h"
#include "weft/readers/json_lines_reader.h"

namespace weft::readers {
namespace {

TEST(TextReader, AFileOrALineIsADocument) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.txt", "one\n\ntwo é\n");
  TextReader whole(folder / "a.txt", TextUnit::kFile);
  const auto documents = test::all_records(whole);
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].text, "one\n\ntwo é\n");
  TextReader lines(folder / "a.txt", TextUnit::kLine);
  const auto each = test::all_records(lines);
  ASSERT_EQ(each.size(), 2U);
  EXPECT_EQ(each[1].text, "two é");
  EXPECT_EQ(each[1].line, 3);
  test::write_text(folder / "empty", "");
  TextReader empty(folder / "empty", TextUnit::kFile);
  EXPECT_TRUE(test::all_records(empty).empty());
}

TEST(TextReader, WhatIsNotUtf8IsMalformed) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.txt", "good\nbad \xff\xfe\nNUL \0 is text\n");
  test::expect_malformed(
      [&](const ReadOptions& options) {
        return std::make_unique<TextReader>(folder / "a.txt", TextUnit::kLine, options);
      },
      {"a.txt' line 2", "UTF-8", "\\xff", "byte 4"}, 1, 2);
}

TEST(TextReader, SeveralFilesAreCountedTogether) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a", "1\n\xff\n2\n");
  test::write_text(folder / "b", "\xfe\n3\n");
  std::string seen;
  const ReadReport report = for_each_record(
      {folder / "a", folder / "b"},
      [](const std::filesystem::path& path) {
        return std::make_unique<TextReader>(path, TextUnit::kLine, ReadOptions{.skip_malformed = true});
      },
      [&](const TextDocument& document) { seen += document.text; });
  EXPECT_EQ(seen, "123");
  EXPECT_EQ(report.records, 3);
  EXPECT_EQ(report.skipped, 2);
  EXPECT_NE(report.first_skipped.find("a' line 2"), std::string::npos);
}

TEST(JsonLines, AreObjects) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a.jsonl", "{\"text\": \"x\", \"n\": 1}\n\n  \n{\"text\": \"\\u00e9\"}");
  JsonLinesReader reader(folder / "a.jsonl");
  const auto records = test::all_records(reader);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(string_field(records[1].object, "text", "here"), "é");
  EXPECT_EQ(records[1].line, 4);
  test::expect_error(ErrorKind::kFormat, {"here", "string at 'n'", "number"},
                     [&] { string_field(records[0].object, "n", "here"); });
  test::expect_error(ErrorKind::kFormat, {"'label'", "none"},
                     [&] { string_field(records[0].object, "label", "here"); });
}

TEST(JsonLines, EverythingElseIsMalformed) {
  const test::TemporaryDirectory folder;
  const std::string deep(1000, '[');
  test::write_text(folder / "a.jsonl", "{\"a\": 1}\n{\"a\": 1\n[1]\n{\"a\": NaN}\n{\"a\": 1, \"a\": 2}\n" + deep +
                                           "\n{\"a\": \"\xff\"}\n{} {}\n{\"b\": 2}\n");
  test::expect_malformed(
      [&](const ReadOptions& options) { return std::make_unique<JsonLinesReader>(folder / "a.jsonl", options); },
      {"a.jsonl' line 2", "not valid JSON"}, 7, 2);
}

}  // namespace
}  // namespace weft::readers
