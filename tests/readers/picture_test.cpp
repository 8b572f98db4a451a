// SPDX-License-Identifier: Apache-2.0
// Pictures of every format come back byte for byte; what would be converted or guessed is refused.
#include "weft/readers/media/picture.h"

#include <initializer_list>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "readers/media_files.h"
#include "readers/reading.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/readers/media/media_files.h"
#include "weft/readers/media/png.h"

namespace weft::readers {
namespace {

class PictureFiles : public testing::Test {
 protected:
  Picture only_picture(const std::string& name, const std::string& content) {
    test::write_text(folder_ / name, content);
    PictureReader reader(folder_ / name);
    EXPECT_EQ(reader.size(), 1);
    Picture picture;
    EXPECT_TRUE(reader.next(picture));
    EXPECT_EQ(reader.first_shape(), picture.shape);
    Picture none;
    EXPECT_FALSE(reader.next(none));
    return picture;
  }

  void expect_refused(const std::string& content, std::initializer_list<std::string_view> words,
                      const std::string& name = "a.png") {
    test::write_text(folder_ / name, content);
    const std::string message = test::expect_error(ErrorKind::kFormat, words, [&] {
      PictureReader reader(folder_ / name);
      Picture picture;
      reader.next(picture);
    });
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(PictureFiles, ComeBackByteForByte) {
  for (const PictureShape& shape : {PictureShape{5, 7, 3}, {1, 1, 1}, {4, 9, 1}, {3, 1, 3}}) {
    const Picture picture = test::drawn_picture(shape, 3);
    for (const auto& [name, content] : {std::pair("a.png", png_of(picture)), {"a.ppm", test::ppm_of(picture)}}) {
      const Picture again = only_picture(name, content);
      EXPECT_EQ(again.shape, shape) << name;
      EXPECT_EQ(again.bytes, picture.bytes) << name;
    }
  }
}

// Rows of a PNG begin with the filter's number, here 0.
TEST_F(PictureFiles, PngOfFewBitsAPaletteOrInterlacedAreReadWithoutLoss) {
  const std::string four_grey = test::png_header(4, 1, 2, 0) + test::png_pixels(std::string("\0\x1b", 2));
  EXPECT_EQ(only_picture("a.png", test::png_file(four_grey)).bytes, (std::vector<unsigned char>{0, 85, 170, 255}));
  const std::string palette =
      test::png_header(2, 1, 8, 3) + test::png_chunk("PLTE", "abcdef") + test::png_pixels(std::string("\0\1\0", 3));
  const Picture colours = only_picture("a.png", test::png_file(palette));
  EXPECT_EQ(std::string(colours.bytes.begin(), colours.bytes.end()), "defabc");
  EXPECT_EQ(colours.shape, (PictureShape{1, 2, 3}));
  // Interlaced, 2 x 2: pass 1 has the first pixel, pass 6 the second, pass 7 the second row. The file's gamma changes
  // no byte.
  const std::string passes = test::png_header(2, 2, 8, 0, 1) + test::png_chunk("gAMA", std::string("\0\0\x10\0", 4)) +
                             test::png_pixels(std::string("\0A\0B\0CD", 7));
  const Picture interlaced = only_picture("a.png", test::png_file(passes));
  EXPECT_EQ(std::string(interlaced.bytes.begin(), interlaced.bytes.end()), "ABCD");
}

TEST_F(PictureFiles, PngThatWouldLoseSomethingIsRefused) {
  const std::string pixels = test::png_pixels(std::string(100, '\0'));
  expect_refused(test::png_file(test::png_header(2, 2, 16, 2) + pixels), {"8 bits", "found 16", "-depth 8"});
  expect_refused(test::png_file(test::png_header(2, 2, 8, 6) + pixels), {"alpha channel", "-alpha remove"});
  expect_refused(test::png_file(test::png_header(2, 2, 8, 4) + pixels), {"alpha channel"});
  const std::string transparent = test::png_chunk("tRNS", std::string("\0\7", 2));
  expect_refused(test::png_file(test::png_header(2, 2, 8, 0) + transparent + pixels), {"transparent colour"});
}

TEST_F(PictureFiles, DamagedPngIsOneLine) {
  const Picture picture = test::drawn_picture({6, 6, 3}, 1);
  const std::string good = png_of(picture);
  for (std::size_t length = 8; length < good.size(); length += 7) {
    expect_refused(good.substr(0, length), {"a PNG"});
  }
  const std::string raster(std::size_t{2 * 3}, '\0');
  expect_refused(test::png_file(test::png_header(2, 2, 8, 0) + test::png_pixels(raster, 1)), {"damaged", "CRC"});
  expect_refused(test::png_file(test::png_header(2, 3, 8, 0) + test::png_pixels(raster)), {"damaged"});
  expect_refused(test::png_file(test::png_header(0, 2, 8, 0) + test::png_pixels(raster)), {"0 columns"});
  expect_refused(test::png_file(test::png_header(2, 0, 8, 0) + test::png_pixels(raster)), {"0 rows"});
  expect_refused(test::png_file(test::png_header(0x7FFFFFFF, 0x7FFFFFFF, 8, 2) + test::png_pixels(raster)),
                 {"2147483647 rows", "at most 67108864 bytes"});
  expect_refused(test::png_file(test::png_header(2, 2, 3, 0) + test::png_pixels(raster)), {"damaged"});
  expect_refused(test::png_file(test::png_chunk("sRGB", "0123456789abc")), {"another chunk"});
}

// libpng would read through what is no pixel, however much there is.
TEST_F(PictureFiles, PngWithMuchBesideItsPixelsIsRefused) {
  const std::string raster(std::size_t{2 * 3}, '\0');
  const std::string header = test::png_header(2, 2, 8, 0);
  const std::string much = test::png_chunk("teXt", std::string(std::size_t{17} << 20, 'x'));
  expect_refused(test::png_file(header + test::png_pixels(raster) + much), {"more than 16 MiB of other data"});
  expect_refused(test::png_file(header + much + test::png_pixels(raster)), {"more than 16 MiB of other data"});
  const std::string little = test::png_chunk("teXt", std::string(100, 'x'));
  test::write_text(folder_ / "good.png", test::png_file(header + little + test::png_pixels(raster) + little));
  EXPECT_EQ(read_png(Descriptor::open_regular(folder_ / "good.png")).shape.width, 2);
}

TEST_F(PictureFiles, PnmHasAHeaderOfWords) {
  const Picture grey = only_picture("a.pgm", "P5 # words\n#more\n 2\t3 255\nabcdef");
  EXPECT_EQ(grey.shape, (PictureShape{3, 2, 1}));
  EXPECT_EQ(std::string(grey.bytes.begin(), grey.bytes.end()), "abcdef");
  const auto refused = [&](const std::string& content, std::initializer_list<std::string_view> words) {
    expect_refused(content, words, "a.ppm");
  };
  refused("P6 2 2 65535\nabcdefghijklabcdefghijkl", {"255", "found 65535"});
  refused("P6 2 2 255\nabc", {"12 bytes", "found 3"});
  refused("P6 1 1 255\nabcd", {"3 bytes", "found 4"});
  refused("P6 0 2 255\n", {"0 columns"});
  refused("P6 999999999 999999999 255\n", {"at most 67108864"});
  refused("P6 9999999999 1 255\n", {"width", "'9999999999 1'"});
  refused("P6 two", {"width", "'two'"});
  refused("P6 # no end", {"width"});
  refused("P5 2 1", {"height"});
}

std::string cifar_record(unsigned char label, const Picture& picture) {
  std::string record(1, static_cast<char>(label));
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
      record += static_cast<char>(picture.bytes[pixel * 3 + channel]);
    }
  }
  return record;
}

TEST_F(PictureFiles, RecordsOfCifarArePlanes) {
  std::vector<Picture> drawn;
  std::string file;
  for (int number = 0; number < 3; ++number) {
    drawn.push_back(test::drawn_picture({32, 32, 3}, number));
    file += cifar_record(static_cast<unsigned char>(number * 4), drawn.back());
  }
  test::write_text(folder_ / "data_batch_1.bin", file);
  PictureReader reader(folder_ / "data_batch_1.bin");
  EXPECT_EQ(reader.size(), 3);
  const std::vector<Picture> pictures = test::all_records(reader);
  ASSERT_EQ(pictures.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pictures[i].bytes, drawn[i].bytes);
  }
  expect_refused(file.substr(1), {"3073 bytes", "3074 bytes", "found 9218"}, "b.bin");
  expect_refused("", {"found 0 bytes"}, "b.bin");
  expect_refused(cifar_record(10, drawn[0]), {"record 1", "0 to 9", "found 10"}, "b.bin");
}

TEST_F(PictureFiles, RecordsOfCifar100HaveTwoLabels) {
  std::vector<Picture> drawn;
  std::string file;
  for (int number = 0; number < 3; ++number) {
    drawn.push_back(test::drawn_picture({32, 32, 3}, number));
    file += static_cast<char>(number * 9);  // the coarse label
    file += cifar_record(static_cast<unsigned char>(number * 49), drawn.back());
  }
  test::write_text(folder_ / "train.bin", file);
  test::append_gzip(folder_ / "train.bin.gz", file);
  for (const char* name : {"train.bin", "train.bin.gz"}) {
    PictureReader reader(folder_ / name);
    EXPECT_EQ(reader.size(), 3);
    EXPECT_EQ(reader.first_shape(), (PictureShape{32, 32, 3}));
    const std::vector<Picture> pictures = test::all_records(reader);
    ASSERT_EQ(pictures.size(), 3U) << name;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(pictures[i].bytes, drawn[i].bytes);
    }
  }
  EXPECT_EQ(list_pictures({folder_.path().string()}).files.size(), 2U);
  expect_refused('\x14' + cifar_record(3, drawn[0]), {"record 1", "0 to 19", "found 20 and 3"}, "b.bin");
  expect_refused('\x13' + cifar_record(100, drawn[0]), {"record 1", "0 to 99", "found 19 and 100"}, "b.bin");
}

// 3,073 records of 3,074 bytes are as long as 3,074 records of 3,073: the labels tell.
TEST_F(PictureFiles, ASizeOfBothKindsOfCifarIsToldByItsLabels) {
  const Picture grey{{32, 32, 3}, std::vector<unsigned char>(3072, 77)};
  for (const bool hundred : {false, true}) {
    std::string file;
    for (int number = 0; number < (hundred ? 3073 : 3074); ++number) {
      file += hundred ? std::string(1, '\x07') : std::string();
      file += cifar_record(static_cast<unsigned char>(number % 10), grey);
    }
    test::write_text(folder_ / "both.bin", file);
    PictureReader reader(folder_ / "both.bin");
    EXPECT_EQ(reader.size(), hundred ? 3073 : 3074);
    for (const Picture& picture : test::all_records(reader)) {
      ASSERT_EQ(picture.bytes, grey.bytes);
    }
  }
}

TEST_F(PictureFiles, OtherFilesAreNamed) {
  expect_refused("\xff\xd8\xff\xe0 JFIF", {"expected a picture", "PNG", "CIFAR-10", "\\xff\\xd8"}, "a.jpg");
  expect_refused("", {"expected a picture"}, "a.png");
  test::expect_error(ErrorKind::kIo, {"directory"}, [&] { PictureReader(folder_.path()); });
}

TEST_F(PictureFiles, AFolderIsItsPictures) {
  test::expect_error(ErrorKind::kArgument, {"holds no picture"}, [&] { list_pictures({folder_.path().string()}); });
  for (const char* name : {"b/2.PNG", "b/1.png", "labels.txt", "c.bin"}) {
    test::write_text(folder_ / name, png_of(test::drawn_picture({2, 3, 1}, 0)));
  }
  const MediaFiles list = list_pictures({folder_.path().string()});
  ASSERT_EQ(list.files.size(), 3U);
  EXPECT_EQ(list.files[0].filename(), "1.png");
  EXPECT_EQ(list.left_out.size(), 1U);
  EXPECT_EQ(first_shape(list), (PictureShape{2, 3, 1}));
  EXPECT_EQ(list_pictures({(folder_ / "labels.txt").string()}).files.size(), 1U);
  check_same_shape(list, {2, 3, 1}, "x.png", {2, 3, 1});
  test::expect_error(ErrorKind::kArgument, {"x.png", "2 rows, 3 columns, 1 channel", "1.png", "found 3 rows"},
                     [&] { check_same_shape(list, {2, 3, 1}, "x.png", {3, 2, 1}); });
}

}  // namespace
}  // namespace weft::readers
