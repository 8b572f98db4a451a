// SPDX-License-Identifier: Apache-2.0
// What is compressed is told by its first bytes and by them alone; what Weft does not read is refused with the command
// that decompresses it.
#include "weft/readers/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "readers/reading.h"
#include "weft/core/files.h"
#include "weft/readers/input/input_texts.h"

namespace weft::readers {
namespace {

using namespace std::string_literals;

const std::vector<std::pair<std::string, std::string>>& compressed_heads() {
  static const std::vector<std::pair<std::string, std::string>> heads = {
      {"xz",
       "\xFD"
       "7zXZ\0\0\4"s},
      {"zstd", "\x28\xB5\x2F\xFD\x04\x00"s},
      {"bzip2", "BZh9\x31\x41\x59\x26\x53\x59\x01"s},
      {"bzip2", "BZh1\x17\x72\x45\x38\x50\x90\0\0\0\0"s},
      {"zip", "PK\x03\x04\x14\0"s},
      {"zip", "PK\x05\x06\0\0"s},
      {"lz4", "\x04\x22\x4D\x18\x64"s},
      {"7z", "7z\xBC\xAF\x27\x1C\0\4"s}};
  return heads;
}

TEST(Compression, IsToldByTheFirstBytes) {
  for (const auto& [name, head] : compressed_heads()) {
    ASSERT_TRUE(compression_of(head)) << name;
    EXPECT_EQ(compression_of(head)->name, name);
    EXPECT_FALSE(may_become_compressed(head));
    EXPECT_TRUE(may_become_compressed(head.substr(0, 3))) << name;
  }
  EXPECT_EQ(compression_of("\x1F\x8B\x08")->name, "gzip");
  for (const char* text :
       {"BZh9 is a text", "BZhello", "PKZIP", "7zip", "{", "\n", "text", "(", "\xFD", "BZh0\x31\x41\x59\x26\x53\x59"}) {
    EXPECT_FALSE(compression_of(text)) << text;
  }
  for (const char* text : {"BZh9 ", "BZhe", "PKZ", "{", "\n", "P\n"}) {
    EXPECT_FALSE(may_become_compressed(text)) << text;
  }
  EXPECT_TRUE(may_become_compressed(""));
}

TEST(Compression, WhatIsNotReadIsRefusedWithTheCommandThatDecompressesIt) {
  const test::TemporaryDirectory folder;
  for (const auto& [name, head] : compressed_heads()) {
    test::write_text(folder / "corpus.txt", head + std::string(1000, 'x'));
    try {
      ByteSource source(folder / "corpus.txt");
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kFormat);
      EXPECT_NE(std::string(error.what()).find("corpus.txt': is compressed with " + name), std::string::npos);
      EXPECT_NE(error.hint().find(name == "zip" ? "unzip" : name.substr(0, 2)), std::string::npos) << error.hint();
      EXPECT_NE(error.hint().find("corpus.txt'"), std::string::npos) << error.hint();
    }
  }
}

// A FIFO that a thread fills with pieces, one write each.
class Pipe {
 public:
  Pipe(const std::filesystem::path& path, std::vector<std::string> pieces) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    writer_ = std::thread([path, pieces = std::move(pieces)] {
      Descriptor file(path, O_WRONLY);
      for (const std::string& piece : pieces) {
        file.write_all(piece.data(), piece.size());
      }
    });
  }
  ~Pipe() { writer_.join(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

 private:
  std::thread writer_;
};

TEST(ByteStream, APipeIsReadAsAFileIs) {
  const test::TemporaryDirectory folder;
  const std::string text = test::random_text(200000, 5);
  test::append_gzip(folder / "zipped", text);
  const std::string zipped = read_file(folder / "zipped");
  int number = 0;
  for (const std::vector<std::string>& pieces :
       {std::vector{text}, {text.substr(0, 1), text.substr(1)}, {zipped}, {zipped.substr(0, 1), zipped.substr(1)}}) {
    const auto path = folder / ("pipe" + std::to_string(number++));
    const Pipe pipe(path, pieces);
    EXPECT_EQ(read_whole_text(ByteSource::stream(path)), text);
  }
  EXPECT_EQ(read_whole_text(ByteSource::stream(folder / "zipped")), text);
  EXPECT_EQ(read_whole_text(ByteSource::stream("/dev/null")), "");
  const auto path = folder / "refused";
  const Pipe pipe(path, {"\xFD"
                         "7zXZ\0\0\4"s});
  test::expect_error(ErrorKind::kFormat, {"refused", "xz"}, [&] { read_whole_text(ByteSource::stream(path)); });
}

TEST(ByteStream, GivesAFirstLineBeforeTheSecondIsThere) {
  const test::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo((folder / "talk").c_str(), 0600), 0);
  const Descriptor both(folder / "talk", O_RDWR);  // no end comes while this is open
  ASSERT_EQ(::write(both.number(), "one\n", 4), 4);
  ByteSource source = ByteSource::stream(folder / "talk");
  EXPECT_EQ(source.first_line(100), "one\n");
  char bytes[16];
  EXPECT_EQ(source.read(bytes, sizeof(bytes)), 4U);
  ASSERT_EQ(::write(both.number(), "P\n", 2), 2);
  EXPECT_EQ(source.read(bytes, sizeof(bytes)), 2U);
}

TEST(ByteStream, EndlessInputAndFoldersAreErrors) {
  const test::TemporaryDirectory folder;
  test::expect_error(ErrorKind::kFormat, {"'/dev/zero'", "at most 1000000 bytes"},
                     [] { read_whole_text(ByteSource::stream("/dev/zero"), 1000000); });
  test::expect_error(ErrorKind::kIo, {"it is a directory"}, [&] { ByteSource::stream(folder.path()); });
  test::expect_error(ErrorKind::kIo, {"absent", "No such file"}, [&] { ByteSource::stream(folder / "absent"); });
  test::expect_error(ErrorKind::kIo, {"regular"}, [&] { ByteSource source("/dev/zero"); });
}

}  // namespace
}  // namespace weft::readers
