// SPDX-License-Identifier: Apache-2.0
// Pictures as items: a begin before each, windows that are whole items, and sound as a run of bytes.
#include "weft/data/picture_tokens.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "readers/media_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/data/window_sampler.h"
#include "weft/readers/media/mu_law.h"
#include "weft/readers/media/png.h"

namespace weft::data {
namespace {

class Media : public testing::Test {
 protected:
  // Pictures 0 to count - 1, in files whose names sort like them.
  std::vector<std::string> pictures(int count, const readers::PictureShape& shape = {3, 2, 3}) {
    for (int i = 0; i < count; ++i) {
      const readers::Picture picture = test::drawn_picture(shape, i);
      const bool png = i % 2 == 0;
      test::write_text(folder_ / "pictures" / concat(i, png ? ".png" : ".ppm"),
                       png ? readers::png_of(picture) : test::ppm_of(picture));
    }
    return {(folder_ / "pictures").string()};
  }

  std::string sound(const std::string& name, const std::vector<int>& samples, const test::WavSettings& settings) {
    test::write_text(folder_ / name, test::wav_file(test::wav_format(settings) + test::wav_samples(samples, 2)));
    return (folder_ / name).string();
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(Media, EachPictureBeginsWithItsOwnId) {
  const PictureTokens tokens(pictures(3));
  EXPECT_EQ(tokens.pictures(), 3);
  ASSERT_EQ(tokens.size(), 3 * 19);
  std::vector<std::int64_t> all(static_cast<std::size_t>(tokens.size()));
  tokens.read(0, all);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all[static_cast<std::size_t>(i) * 19], kBeginOfPicture);
    const std::vector<unsigned char> bytes = test::drawn_picture({3, 2, 3}, i).bytes;
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), all.begin() + i * 19 + 1));
  }
  // Any stretch, across items too.
  for (const auto& [begin, count] : {std::pair(5, 40), {18, 2}, {19, 1}, {56, 1}, {57, 0}}) {
    std::vector<std::int64_t> part(static_cast<std::size_t>(count));
    tokens.read(begin, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin)) << begin;
  }
  std::vector<std::int64_t> beyond(2);
  test::expect_error(ErrorKind::kArgument, {"57 tokens"}, [&] { tokens.read(56, beyond); });
  EXPECT_EQ(PictureTokens({(folder_ / "pictures").string()}, 19).pictures(), 2);
  EXPECT_EQ(PictureTokens({(folder_ / "pictures").string()}, 1).pictures(), 1);
}

TEST_F(Media, AWindowIsOnePicture) {
  const auto tokens = std::make_shared<const PictureTokens>(pictures(5));
  const SamplerOptions options{.context = 18, .batch_size = 2, .parts = 1, .lookahead = 1, .seed = 3, .items = true};
  const WindowSampler sampler(tokens, options);
  EXPECT_EQ(sampler.windows_per_epoch(), 5);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> seen;
    for (std::int64_t row = epoch * 5; row < epoch * 5 + 5; ++row) {
      const std::int64_t begin = sampler.window(row / 2, 0, row % 2);
      EXPECT_EQ(begin % 19, 0);
      EXPECT_TRUE(seen.insert(begin).second);
    }
  }
  const Batch batch = causal_batch(sampler.tokens(7, 0));
  EXPECT_EQ(batch.input_ids[1][0].item<std::int64_t>(), kBeginOfPicture);
  EXPECT_EQ(batch.labels[1][0].item<std::int64_t>(), batch.input_ids[1][1].item<std::int64_t>());
}

TEST_F(Media, PicturesOfTwoSizesAreRefused) {
  pictures(2);
  test::write_text(folder_ / "pictures" / "9.png", readers::png_of(test::drawn_picture({2, 3, 3}, 0)));
  test::expect_error(ErrorKind::kArgument, {"9.png", "expected 3 rows, 2 columns, 3 channels", "0.png", "found 2 rows"},
                     [&] { PictureTokens({(folder_ / "pictures").string()}); });
}

TEST_F(Media, SoundIsARunOfBytes) {
  const std::vector<std::string> files = {sound("a.wav", {0, 1000, -1000}, {1, 8000}),
                                          sound("b.wav", {5, 6}, {1, 8000})};
  const TextCorpus corpus(files, 0, Content::kSound);
  EXPECT_EQ(corpus.rate(), 8000);
  ASSERT_EQ(corpus.bytes(), 5);
  std::string bytes;
  for (const int sample : {0, 1000, -1000, 5, 6}) {
    bytes += static_cast<char>(readers::mu_law(sample / 32768.0));
  }
  EXPECT_EQ(corpus.text(), bytes);
  EXPECT_EQ(TextCorpus(files, 4, Content::kSound).text(), bytes.substr(0, 4));
  const std::string stereo = sound("c.wav", {1, 2, 3, 4}, {2, 8000});
  test::expect_error(ErrorKind::kArgument, {"c.wav", "one channel", "found 2"},
                     [&] { TextCorpus({stereo}, 0, Content::kSound); });
  EXPECT_EQ(TextCorpus({stereo}, 0, Content::kFirstChannel).bytes(), 2);
  const std::string fast = sound("d.wav", {1}, {1, 16000});
  test::expect_error(ErrorKind::kArgument, {"d.wav", "8000 samples", "a.wav", "found 16000"},
                     [&] { TextCorpus({files[0], fast}, 0, Content::kSound); });
}

}  // namespace
}  // namespace weft::data
