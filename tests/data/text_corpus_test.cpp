// SPDX-License-Identifier: Apache-2.0
// Which files a corpus has, reads across their borders, and files that are wrong or go wrong.
#include "weft/data/text_corpus.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "readers/encodings.h"
#include "readers/reading.h"
#include "weft/core/files.h"

namespace weft::data {
namespace {

TEST(TextCorpus, JoinsFilesInTheOrderGivenAndFoldersSorted) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "books/b.md", "bb");
  test::write_text(folder / "books/a/z.txt", "az");
  test::write_text(folder / "books/.hidden/x.txt", "no");
  test::write_text(folder / "books/.hidden.txt", "no");
  test::write_text(folder / "books/empty.txt", "");
  test::write_text(folder / "first.txt", "1st");
  const TextCorpus corpus({(folder / "first.txt").string(), (folder / "books").string()});
  EXPECT_EQ(corpus.text(), "1stazbb");
  EXPECT_EQ(corpus.text(4), "1sta");
  EXPECT_EQ(corpus.bytes(), 7);
  ASSERT_EQ(corpus.files().size(), 3U);
  EXPECT_EQ(corpus.files()[1].begin, 3);
}

TEST(TextCorpus, ReadsAnyRange) {
  const test::TemporaryDirectory folder;
  std::string all;
  for (int file = 0; file < 5; ++file) {
    const std::string content(static_cast<std::size_t>(3 + file), static_cast<char>('a' + file));
    test::write_text(folder / std::to_string(file), content);
    all += content;
  }
  const TextCorpus corpus({folder.path().string()});
  for (std::size_t begin = 0; begin <= all.size(); ++begin) {
    for (std::size_t count = 0; begin + count <= all.size(); ++count) {
      std::string got(count, '\0');
      corpus.read(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count), got.data());
      ASSERT_EQ(got, all.substr(begin, count));
    }
  }
  char byte = 0;
  test::expect_error(ErrorKind::kArgument, {"25 bytes"}, [&] { corpus.read(25, 1, &byte); });
  test::expect_error(ErrorKind::kArgument, {"25 bytes"}, [&] { corpus.read(-1, 1, &byte); });
}

TEST(TextCorpus, GzipIsReadAsTheTextThatItHolds) {
  const test::TemporaryDirectory folder;
  const std::string text = test::random_text(3000000, 7);
  const std::vector<std::string> parts = {text.substr(0, 100), text.substr(100, 1500000), text.substr(1500100, 400),
                                          text.substr(1500500)};
  test::write_text(folder / "plain/a", text);
  test::write_text(folder / "mixed/1.txt", parts[0]);
  test::append_gzip(folder / "mixed/2.txt.gz", parts[1].substr(0, 700000));
  test::append_gzip(folder / "mixed/2.txt.gz", parts[1].substr(700000));  // a second member
  test::write_text(folder / "mixed/3.txt", parts[2]);
  test::append_gzip(folder / "mixed/4", parts[3]);
  test::append_gzip(folder / "mixed/5.empty.gz", "");
  const TextCorpus plain({(folder / "plain").string()});
  const TextCorpus mixed({(folder / "mixed").string()});
  EXPECT_EQ(mixed.bytes(), plain.bytes());
  EXPECT_EQ(mixed.files().size(), 4U);
  EXPECT_EQ(mixed.text(), text);
  for (const std::size_t begin : {0U, 99U, 100U, 1499000U, 1500099U, 1500499U, 2990000U}) {
    std::string got(10000, '\0');
    mixed.read(static_cast<std::int64_t>(begin), 10000, got.data());
    EXPECT_EQ(got, text.substr(begin, 10000));
  }
  EXPECT_EQ(TextCorpus({(folder / "mixed").string()}, 1000000).text(), text.substr(0, 1000000));
  EXPECT_EQ(TextCorpus({(folder / "plain").string()}, 1000).text(), text.substr(0, 1000));
}

TEST(TextCorpus, EncodingsAreReadAsTheTextThatTheyHold) {
  const test::TemporaryDirectory folder;
  const std::string text = "na\xC3\xAFve \xF0\x9F\x98\x80 text\n";
  std::string all;
  for (int encoding = 0; encoding < test::kEncodings; ++encoding) {
    test::write_text(folder / std::to_string(encoding), test::encoded(text, encoding));
    test::append_gzip(folder / (std::to_string(encoding) + ".gz"), test::encoded(text, encoding));
    all += text + text;
  }
  const TextCorpus corpus({folder.path().string()});
  EXPECT_EQ(corpus.text(), all);
  for (std::int64_t begin = 0; begin + 9 <= corpus.bytes(); ++begin) {
    std::string got(9, '\0');
    corpus.read(begin, 9, got.data());
    ASSERT_EQ(got, all.substr(static_cast<std::size_t>(begin), 9));
  }
  test::write_text(folder / "wide", test::utf16(text, false));
  test::expect_error(ErrorKind::kFormat, {"wide", "UTF-16LE without a byte order mark", "UTF-8"},
                     [&] { TextCorpus({(folder / "wide").string()}); });
}

TEST(TextCorpus, NamesCompressedFilesThatItCannotRead) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const std::string& name) { TextCorpus corpus({(folder / name).string()}); };
  test::append_gzip(folder / "whole.gz", test::random_text(100000, 8));
  test::append_gzip(folder / "empty.gz", "");
  const std::string bytes = read_file(folder / "whole.gz");
  test::write_text(folder / "cut.gz", bytes.substr(0, bytes.size() / 2));
  std::string flipped = bytes;
  flipped[bytes.size() / 2] ^= 0x55;
  test::write_text(folder / "flipped.gz", flipped);
  test::write_text(folder / "text.zst", "\x28\xB5\x2F\xFD and more");
  test::expect_error(ErrorKind::kFormat, {"cut.gz", "end in the middle"}, [&] { open("cut.gz"); });
  test::expect_error(ErrorKind::kFormat, {"flipped.gz", "damaged"}, [&] { open("flipped.gz"); });
  test::expect_error(ErrorKind::kFormat, {"text.zst", "zstd"}, [&] { open("text.zst"); });
  test::expect_error(ErrorKind::kIo, {"empty.gz", "no text"}, [&] { open("empty.gz"); });
}

TEST(TextCorpus, NamesWhatItCannotRead) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const std::string& name) { TextCorpus corpus({(folder / name).string()}); };
  test::write_text(folder / "empty.txt", "");
  std::filesystem::create_directories(folder / "hollow/inner");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  test::expect_error(ErrorKind::kIo, {"absent.txt", "No such file"}, [&] { open("absent.txt"); });
  test::expect_error(ErrorKind::kIo, {"empty.txt", "empty"}, [&] { open("empty.txt"); });
  test::expect_error(ErrorKind::kIo, {"hollow", "empty"}, [&] { open("hollow"); });
  test::expect_error(ErrorKind::kIo, {"pipe"}, [&] { open("pipe"); });
  test::expect_error(ErrorKind::kArgument, {"no text"}, [] { TextCorpus corpus(std::vector<std::string>{}); });
}

TEST(TextCorpus, AFileThatShrinksOrGoesAwayIsAnError) {
  const test::TemporaryDirectory folder;
  const auto path = folder / "text.txt";
  test::write_text(path, std::string(100000, 'x'));
  const TextCorpus corpus({path.string()});
  std::filesystem::resize_file(path, 50000);
  std::string text(100, '\0');
  for (const std::int64_t begin : {0, 49950}) {
    test::expect_error(ErrorKind::kIo, {"text.txt", "shrunk", "100000", "50000"},
                       [&] { corpus.read(begin, 100, text.data()); });
  }
  std::filesystem::remove(path);
  test::expect_error(ErrorKind::kIo, {"text.txt"}, [&] { corpus.read(0, 100, text.data()); });
}

// Of the same size, or longer: windows before and after would be of two texts.
TEST(TextCorpus, AFileThatIsWrittenMeanwhileIsAnError) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path path = folder / "text.txt";
  test::write_text(path, test::random_text(1000, 1));
  const TextCorpus corpus({path.string()});
  std::string text(100, '\0');
  corpus.read(0, 100, text.data());
  test::write_text(path, test::random_text(1000, 2));
  // The system's clock of files may not have moved on since the file was made.
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  test::expect_error(ErrorKind::kIo, {"text.txt", "was written while it was in use"},
                     [&] { corpus.read(0, 100, text.data()); });
}

TEST(TextCorpus, AFileThatIsTouchedIsTheSameText) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path path = folder / "text.txt";
  const std::string content = test::random_text(1000, 1);
  test::write_text(path, content);
  const TextCorpus corpus({path.string()});
  std::string text(100, '\0');
  int times = 0;  // the system's clock of files may stand still from one to the next
  const auto later = [&] {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(++times));
  };
  corpus.remember_content();
  later();
  corpus.read(0, 100, text.data());
  EXPECT_EQ(text, content.substr(0, 100));
  test::write_text(path, content);
  later();
  corpus.read(900, 100, text.data());
  EXPECT_EQ(text, content.substr(900));
  // One byte that is never read is another text all the same: it would be read in the next epoch.
  std::string other = content;
  other[500] ^= 1;
  test::write_text(path, other);
  later();
  for (int time = 0; time < 2; ++time) {
    test::expect_error(ErrorKind::kIo, {"text.txt", "was written while it was in use"},
                       [&] { corpus.read(0, 100, text.data()); });
  }
  test::write_text(path, content);
  later();
  corpus.read(0, 100, text.data());
}

}  // namespace
}  // namespace weft::data
