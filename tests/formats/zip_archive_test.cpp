// SPDX-License-Identifier: Apache-2.0
// ZIP directories that lie, and archives that would grow when unpacked.
#include "weft/formats/pickle/zip_archive.h"

#include <fstream>

#include <gtest/gtest.h>

#include "formats/torch_archive.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"

namespace weft::formats {
namespace {

std::unordered_map<std::string, ZipMember> read(const std::string& content) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "a.zip", std::ios::binary) << content;
  return read_zip_directory(MappedFile(directory / "a.zip"), "a.zip");
}

void expect_no_archive(const std::string& content, std::initializer_list<std::string_view> words) {
  test::expect_error(ErrorKind::kFormat, words, [&] { read(content); });
}

TEST(ZipArchive, MembersAndTheirPlaces) {
  const std::string archive = zip_archive({{"a", "first"}, {"b/c", ""}, {"d", "third"}});
  const auto members = read(archive);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(archive.substr(members.at("a").offset, members.at("a").size), "first");
  EXPECT_EQ(members.at("b/c").size, 0U);
  EXPECT_EQ(archive.substr(members.at("d").offset, members.at("d").size), "third");
  EXPECT_TRUE(read(zip_archive({})).empty());
}

TEST(ZipArchive, AMemberIsHeldToItsChecksum) {
  const test::TemporaryDirectory directory;
  const auto check = [&](std::uint32_t checksum) {
    const std::string archive = zip_archive({{"a", "123456789", 0, 0, 0, -1, checksum}});
    std::ofstream(directory / "a.zip", std::ios::binary) << archive;
    const MappedFile file(directory / "a.zip");
    check_member(file, read_zip_directory(file, "a.zip").at("a"), "a", "a.zip");
  };
  check(0xCBF43926);  // the check value that every description of CRC-32 gives for these nine digits
  check(0);           // left out
  test::expect_error(ErrorKind::kFormat, {"a.zip", "'a' is damaged", "3421780263", "3421780262"},
                     [&] { check(0xCBF43927); });
}

TEST(ZipArchive, ACommentMayFollow) {
  std::string archive = zip_archive({{"a", "first"}});
  archive[archive.size() - 2] = 3;
  EXPECT_EQ(read(archive + "abc").size(), 1U);
  expect_no_archive(archive + "ab", {"end record is missing"});
}

TEST(ZipArchive, NothingIsInflated) {
  expect_no_archive(zip_archive({{"bomb", "x", 8}}), {"'bomb' is compressed"});
  expect_no_archive(zip_archive({{"secret", "x", 0, 1}}), {"'secret' is compressed or encrypted"});
}

TEST(ZipArchive, MembersThatLie) {
  expect_no_archive(zip_archive({{"a", "x", 0, 0, 1000}}), {"'a' with 1000 bytes reaches beyond"});
  expect_no_archive(zip_archive({{"a", "x"}, {"a", "y"}}), {"two members 'a'"});
  expect_no_archive(zip_archive({{"a", "x"}, {"b", "y", 0, 0, 0, 0}}), {"overlap"});
  expect_no_archive(zip_archive({{"a", "x"}, {"b", "y", 0, 0, 0, 3}}), {"'b' is not where the directory says"});
  expect_no_archive(zip_archive({{"a", "x", 0, 0, 0, 1 << 20}}), {"reaches beyond the file"});
}

TEST(ZipArchive, DirectoriesThatLie) {
  const std::string archive = zip_archive({{"a", "x"}});
  const auto patched = [&](std::size_t from_end, std::string_view bytes) {
    std::string copy = archive;
    return copy.replace(copy.size() - from_end, bytes.size(), bytes);
  };
  expect_no_archive(patched(14, "\xff\xff"), {"one part of several"});
  expect_no_archive(patched(14, std::string_view("\2\0\2\0", 4)), {"2 members"});
  expect_no_archive(patched(10, std::string_view("\xff\xff\xff\0", 4)), {"reaches beyond"});
  expect_no_archive(patched(6, std::string_view("\xff\xff\0\0", 4)), {"reaches beyond"});
  expect_no_archive(patched(6, std::string_view("\0\0\0\0", 4)), {"cut off or damaged"});
  for (std::size_t size = 0; size < archive.size(); ++size) {
    EXPECT_THROW(read(archive.substr(0, size)), Error) << size;
  }
}

TEST(ZipArchive, Zip64) {
  // The directory of the plain archive, found through the wide records: sizes of 4 GiB and more need them.
  const std::string plain = zip_archive({{"a", "first"}});
  const std::string body = plain.substr(0, plain.size() - 22);
  const std::uint64_t directory = body.find("PK\1\2");
  const std::string wide = std::string("PK\6\6") + little<std::uint64_t>(44) + std::string(12, '\0') +
                           little<std::uint64_t>(1) + little<std::uint64_t>(1) +
                           little<std::uint64_t>(body.size() - directory) + little(directory);
  const std::string locator =
      std::string("PK\6\7") + std::string(4, '\0') + little<std::uint64_t>(body.size()) + little<std::uint32_t>(1);
  const std::string end = std::string("PK\5\6") + std::string(4, '\0') + std::string(12, '\xff') + std::string(2, '\0');
  const auto members = read(body + wide + locator + end);
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members.at("a").size, 5U);
  expect_no_archive(body + std::string(56, 'x') + locator + end, {"ZIP64 end record is missing"});
}

}  // namespace
}  // namespace weft::formats
