// SPDX-License-Identifier: Apache-2.0
// Plain and gzip files as bytes and lines: whole, damaged, shrunk, and without an end.
#include "weft/readers/byte_source.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "readers/encodings.h"
#include "readers/reading.h"
#include "weft/core/files.h"
#include "weft/readers/file_list.h"
#include "weft/readers/text_source.h"

namespace weft::readers {
namespace {

std::string read_all(const std::filesystem::path& path, std::size_t at_once) {
  ByteSource source(path);
  std::string result;
  std::string piece(at_once, '\0');
  while (const std::size_t got = source.read(piece.data(), piece.size())) {
    result.append(piece, 0, got);
  }
  EXPECT_EQ(source.read(piece.data(), piece.size()), 0U);
  return result;
}

TEST(ByteSource, ReadsPlainAndGzipAlike) {
  const test::TemporaryDirectory folder;
  const std::string text = test::random_text(200000, 3);
  test::write_text(folder / "plain", text);
  test::append_gzip(folder / "zipped", text.substr(0, 100));
  test::append_gzip(folder / "zipped", text.substr(100));
  test::append_gzip(folder / "zipped", "");
  for (const std::size_t at_once : {7U, 4096U, 300000U}) {
    EXPECT_EQ(read_all(folder / "plain", at_once), text);
    EXPECT_EQ(read_all(folder / "zipped", at_once), text);
  }
  test::write_text(folder / "padded", read_file(folder / "zipped") + std::string(600, '\0'));
  EXPECT_EQ(read_all(folder / "padded", 1000), text);
  test::write_text(folder / "empty", "");
  EXPECT_EQ(read_all(folder / "empty", 10), "");
}

TEST(ByteSource, EncodingsComeToTheSameText) {
  const test::TemporaryDirectory folder;
  std::string text = "\xF0\x9F\x98\x80 ";
  for (int i = 0; i < 30000; ++i) {
    text += "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  }
  text += "\n\xEF\xBB\xBFlast";  // a mark is one only at the beginning
  for (int encoding = 0; encoding < test::kEncodings; ++encoding) {
    const std::string bytes = test::encoded(text, encoding);
    test::write_text(folder / "plain", bytes);
    test::append_gzip(folder / ("zipped" + std::to_string(encoding)), bytes);
    for (const std::size_t at_once : {1U, 7U, 300000U}) {
      EXPECT_EQ(read_all(folder / "plain", at_once), text) << encoding;
      EXPECT_EQ(read_all(folder / ("zipped" + std::to_string(encoding)), at_once), text) << encoding;
    }
    ByteSource source(folder / "plain");
    EXPECT_EQ(source.first_line(3), text.substr(0, 3));
    EXPECT_EQ(source.head(1000000), text);
    EXPECT_EQ(source.stored_text().value_or(99), encoding == 0 ? 0U : encoding == 1 ? 3U : 99U);
  }
  for (const char* short_text : {"\xEF", "\xEF\xBB", "\xEF\xBB\xBF", "\xFF", "\xFF\xFE", ""}) {
    test::write_text(folder / "short", short_text);
    const std::string expected =
        std::string_view(short_text).size() == (short_text[0] == '\xEF' ? 3U : 2U) ? "" : short_text;
    EXPECT_EQ(read_all(folder / "short", 10), expected);
    ByteSource any(folder / "short", ByteSource::Content::kAny);
    EXPECT_EQ(any.head(10), short_text);
  }
}

TEST(ByteSource, DamagedGzipIsAnError) {
  const test::TemporaryDirectory folder;
  test::append_gzip(folder / "whole", test::random_text(50000, 4));
  std::string bytes = read_file(folder / "whole");
  test::write_text(folder / "cut", bytes.substr(0, bytes.size() - 9));
  test::expect_error(ErrorKind::kFormat, {"cut", "end in the middle"}, [&] { read_all(folder / "cut", 4096); });
  test::write_text(folder / "more", bytes + "text");
  test::expect_error(ErrorKind::kFormat, {"more", "something else"}, [&] { read_all(folder / "more", 4096); });
  bytes[bytes.size() / 2] ^= 0x55;
  test::write_text(folder / "flipped", bytes);
  test::expect_error(ErrorKind::kFormat, {"flipped", "damaged"}, [&] { read_all(folder / "flipped", 4096); });
}

TEST(ByteSource, AFileThatShrinksIsAnError) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "log", std::string(100000, 'x'));
  ByteSource source(folder / "log");
  std::string piece(1000, '\0');
  EXPECT_EQ(source.read(piece.data(), piece.size()), 1000U);
  std::filesystem::resize_file(folder / "log", 1500);
  test::expect_error(ErrorKind::kIo, {"log", "shrunk", "100000", "1500"}, [&] {
    while (source.read(piece.data(), piece.size()) > 0) {
    }
  });
  test::expect_error(ErrorKind::kIo, {"missing"}, [&] { ByteSource missing(folder / "missing"); });
}

TEST(TextSource, CountsLinesHoweverTheyEnd) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "a", "\xEF\xBB\xBFone\r\n\ntwo\rhalf\nlast");
  TextSource source(folder / "a", {});
  std::vector<std::string> lines;
  for (std::string line; source.next_line(line);) {
    lines.push_back(line);
    EXPECT_EQ(source.line(), static_cast<std::int64_t>(lines.size()));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two\rhalf", "last"}));
  TextSource bytes(folder / "a", {});
  std::string text;
  for (int byte = bytes.get(); byte != TextSource::kEnd; byte = bytes.get()) {
    text.push_back(static_cast<char>(byte));
  }
  EXPECT_EQ(text, "one\r\n\ntwo\rhalf\nlast");
  EXPECT_EQ(bytes.line(), 4);
}

TEST(TextSource, ARecordHasALimit) {
  const test::TemporaryDirectory folder;
  test::append_gzip(folder / "bomb", std::string(10 << 20, 'x'));
  TextSource source(folder / "bomb", {.skip_malformed = true, .max_record_bytes = 1 << 20});
  std::string line;
  test::expect_error(ErrorKind::kFormat, {"bomb", "line 1", "at most 1048576"}, [&] { source.next_line(line); });
  EXPECT_LT(line.capacity(), std::size_t{4} << 20);
}

TEST(FileList, WalksFoldersInOrder) {
  const test::TemporaryDirectory folder;
  for (const char* name : {"b.txt", "a/z.txt", "a/.hidden", ".git/x", "c"}) {
    test::write_text(folder / name, "x");
  }
  const std::vector<std::filesystem::path> expected = {folder / "c", folder / "a/z.txt", folder / "b.txt",
                                                       folder / "c"};
  EXPECT_EQ(list_files({(folder / "c").string(), folder.path().string()}), expected);
  test::expect_error(ErrorKind::kIo, {"nowhere"}, [&] { list_files({(folder / "nowhere").string()}); });
  test::expect_error(ErrorKind::kIo, {"'-'", "standard input is not read here"}, [] { list_files({"-"}); });
  test::expect_error(ErrorKind::kArgument, {"files or folders"}, [] { list_files({}); });
}

}  // namespace
}  // namespace weft::readers
