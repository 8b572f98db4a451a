// SPDX-License-Identifier: Apache-2.0
// Vocabularies that torch.save wrote in both forms (tests/fixtures/make/transformer_xl.py), and hostile ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/formats/pickle/pickled_words.h"

namespace weft::formats {
namespace {

using namespace std::string_literals;

const std::filesystem::path kVocabularies = std::filesystem::path(WEFT_TEST_DATA_DIR) / "transformer_xl" / "pickled";

TEST(PickledWords, AreThoseOfBothForms) {
  for (const char* name : {"vocab.pkl", "vocab.bin"}) {
    const std::vector<std::string> words = read_pickled_words(kVocabularies / name);
    ASSERT_EQ(words.size(), 40U) << name;
    EXPECT_EQ(words[0], "<eos>");
    EXPECT_EQ(words[39], "w\u00f6rd32");
  }
}

/// The first pickles of the form before ZIP, then `pickle`.
std::string legacy(std::string_view pickle) {
  const std::string number =
      "\x80\x02\x8a\x0a"
      "l\xfc\x9c"
      "F\xf9 j\xa8P\x19."s;
  const std::string version = "\x80\x02M\xe9\x03."s;
  const std::string order = "\x80\x02}X\x0d\0\0\0little_endian\x88s."s;
  return number + version + order + std::string(pickle);
}

TEST(PickledWords, WhatIsNoVocabularyIsRefused) {
  const test::TemporaryDirectory directory;
  const auto refused = [&](std::string_view pickle, std::initializer_list<std::string_view> words) {
    write_file_atomically(directory / "vocab.pkl", legacy(pickle));
    const std::string message =
        test::expect_error(ErrorKind::kFormat, words, [&] { read_pickled_words(directory / "vocab.pkl"); });
    EXPECT_NE(message.find("vocab.pkl"), std::string::npos) << message;
  };
  refused("\x80\x02}X\x07\0\0\0idx2symcos\nsystem\ns."s, {"'os.system'"});
  refused("\x80\x02}."s, {"idx2sym", "found none"});
  refused("\x80\x02]."s, {"idx2sym", "found none"});
  refused("\x80\x02}X\x07\0\0\0idx2symK\x05s."s, {"idx2sym", "an integer"});
  refused("\x80\x02}X\x07\0\0\0idx2sym]s."s, {"a list of words"});
  refused(
      "\x80\x02}X\x07\0\0\0idx2sym]K\x05"s
      "as."s,
      {"entry 0", "an integer"});
  refused("\x80\x02}X\x07\0\0\0idx2sym](X\x01\0\0\0aX\x01\0\0\0aes."s, {"entry 1", "'a'"});
  refused("\x80\x02}X\x07\0\0\0idx2sym](X\x01\0\0\0a"s, {"vocab.pkl"});
  write_file_atomically(directory / "vocab.pkl", "{\"<eos>\": 0}");
  test::expect_error(ErrorKind::kFormat, {"not a file of PyTorch"},
                     [&] { read_pickled_words(directory / "vocab.pkl"); });
}

}  // namespace
}  // namespace weft::formats
