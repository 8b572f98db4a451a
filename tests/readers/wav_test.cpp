// SPDX-License-Identifier: Apache-2.0
// WAV's samples as bytes of mu-law, and files that promise what they do not hold.
#include "weft/readers/media/wav.h"

#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "readers/media_files.h"
#include "readers/reading.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/readers/media/media_files.h"
#include "weft/readers/media/mu_law.h"

namespace weft::readers {
namespace {

// Silence, the ends, and bytes from torchaudio's definition computed by hand.
TEST(MuLaw, HasTheCurveOfItsEquation) {
  EXPECT_EQ(mu_law(0.0), 128);
  EXPECT_EQ(mu_law(1.0), 255);
  EXPECT_EQ(mu_law(-1.0), 0);
  EXPECT_EQ(mu_law(7.0), 255);
  EXPECT_EQ(mu_law(0.5), static_cast<int>(std::floor((std::log(128.5) / std::log(256.0) + 1) / 2 * 255 + 0.5)));
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(mu_law(mu_law_sample(static_cast<unsigned char>(byte))), byte);
  }
  EXPECT_NEAR(mu_law_sample(255), 1.0, 1e-12);
}

class WavFiles : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& content) {
    test::write_text(folder_ / "a.wav", content);
    return folder_ / "a.wav";
  }

  void expect_refused(const std::string& content, std::initializer_list<std::string_view> words) {
    const std::filesystem::path path = written(content);
    const std::string message = test::expect_error(ErrorKind::kFormat, words, [&] { const WavFile file(path); });
    EXPECT_NE(message.find("a.wav"), std::string::npos);
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(WavFiles, BytesAreThoseOfTheFirstChannel) {
  const std::vector<int> samples = {0, -32768, 32767, 100, -100, 5000};
  for (const std::uint64_t channels : {1, 2}) {
    const std::string list = test::wav_chunk("LIST", "odd");  // with a byte of padding
    const WavFile file(
        written(test::wav_file(test::wav_format({channels, 12000}) + list + test::wav_samples(samples, 2))));
    EXPECT_EQ(file.channels(), static_cast<std::int64_t>(channels));
    EXPECT_EQ(file.rate(), 12000);
    ASSERT_EQ(file.samples(), static_cast<std::int64_t>(samples.size() / channels));
    std::string bytes(static_cast<std::size_t>(file.samples()), '\0');
    file.read(0, 1, bytes.data());
    file.read(1, file.samples() - 1, bytes.data() + 1);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(static_cast<unsigned char>(bytes[i]), mu_law(samples[i * channels] / 32768.0));
    }
    test::expect_error(ErrorKind::kArgument, {"samples"}, [&] { file.read(file.samples(), 1, bytes.data()); });
  }
  const WavFile eight(written(test::wav_file(test::wav_format({1, 8000, 8}) + test::wav_samples({128, 0, 255}, 1))));
  std::string bytes(3, '\0');
  eight.read(0, 3, bytes.data());
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]), 128);
  EXPECT_EQ(static_cast<unsigned char>(bytes[1]), 0);
  EXPECT_EQ(static_cast<unsigned char>(bytes[2]), mu_law(127.0 / 128.0));
}

// The values of the table of G.711, 14 bits: code words of both signs, from the largest to the least.
TEST_F(WavFiles, MuLawOfTelephonesIsTheSameSound) {
  const std::vector<std::pair<int, int>> table = {
      {0x80, 8031}, {0x8F, 4191}, {0x90, 3999}, {0x9F, 2079}, {0xAF, 1023}, {0xBF, 495}, {0xCF, 231},  {0xDF, 99},
      {0xEF, 33},   {0xF0, 30},   {0xFE, 2},    {0xFF, 0},    {0x7F, 0},    {0x7E, -2},  {0x00, -8031}};
  std::vector<int> codes;
  codes.reserve(table.size());
  for (const auto& [code, sample] : table) {
    codes.push_back(code);
  }
  const WavFile file(written(test::wav_file(test::wav_format({1, 8000, 8, 7}) + test::wav_chunk("fact", "4444") +
                                            test::wav_samples(codes, 1))));
  ASSERT_EQ(file.samples(), static_cast<std::int64_t>(table.size()));
  std::string bytes(table.size(), '\0');
  file.read(0, file.samples(), bytes.data());
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(static_cast<unsigned char>(bytes[i]), mu_law(table[i].second / 8192.0)) << table[i].second;
  }
  // Louder samples of the same sign never get a lower byte.
  for (int code = 0x81; code <= 0xFF; ++code) {
    const WavFile pair(
        written(test::wav_file(test::wav_format({1, 8000, 8, 7}) + test::wav_samples({code - 1, code}, 1))));
    pair.read(0, 2, bytes.data());
    EXPECT_GE(static_cast<unsigned char>(bytes[0]), static_cast<unsigned char>(bytes[1])) << code;
  }
  expect_refused(test::wav_file(test::wav_format({1, 8000, 16, 7}) + test::wav_samples({1}, 2)),
                 {"mu-law (format 7) of 8", "format 7 of 16 bits"});
}

TEST_F(WavFiles, GzipHoldsTheSameSamples) {
  const std::string content =
      test::wav_file(test::wav_format({}) + test::wav_samples({0, 300, -9000, 20000, -1, 77}, 2));
  const WavFile plain(written(content));
  test::append_gzip(folder_ / "a.wav.gz", content);
  const WavFile packed(folder_ / "a.wav.gz");
  ASSERT_EQ(packed.samples(), plain.samples());
  std::string expected(6, '\0');
  std::string found(6, '\0');
  plain.read(0, 6, expected.data());
  packed.read(0, 6, found.data());
  EXPECT_EQ(found, expected);
  std::filesystem::copy_file(folder_ / "a.wav.gz", folder_ / "b.wav.gz");
  std::filesystem::resize_file(folder_ / "b.wav.gz", 30);
  test::expect_error(ErrorKind::kFormat, {"b.wav.gz"}, [&] { WavFile(folder_ / "b.wav.gz"); });
  const MediaFiles list = list_sounds({folder_.path().string()});
  EXPECT_EQ(list.files.size(), 3U);
}

TEST_F(WavFiles, WhatIsWrongIsSaid) {
  const std::string data = test::wav_samples({1, 2, 3}, 2);
  const std::string good = test::wav_file(test::wav_format({}) + data);
  expect_refused("no sound at all", {"RIFF", "'no sound at '"});
  expect_refused("", {"RIFF"});
  expect_refused(good.substr(0, good.size() - 1), {"expected 6 bytes", "found 5"});
  expect_refused(good.substr(0, 36), {"'data'", "end of the file", "1 chunks"});
  expect_refused(test::wav_file(data), {"'fmt ' before"});
  expect_refused(test::wav_file(test::wav_chunk("fmt ", "short") + data), {"16 bytes", "found 5"});
  expect_refused(test::wav_file(test::wav_format({1, 8000, 16, 3}) + data), {"PCM", "format 3"});
  expect_refused(test::wav_file(test::wav_format({1, 8000, 24}) + data), {"8 or 16 bits", "24 bits"});
  expect_refused(test::wav_file(test::wav_format({0}) + data), {"at least one channel", "0 channels"});
  expect_refused(test::wav_file(test::wav_format({1, 0}) + data), {"0 samples a second"});
  expect_refused(test::wav_file(test::wav_format({2}) + data), {"multiple of 4", "found 6"});
  std::string chunks;
  for (int i = 0; i < 1001; ++i) {
    chunks += test::wav_chunk("JUNK", "");
  }
  expect_refused(test::wav_file(chunks + test::wav_format({}) + data), {"first 1000"});
}

}  // namespace
}  // namespace weft::readers
