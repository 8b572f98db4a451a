// SPDX-License-Identifier: Apache-2.0
// Which format a file has, and CIFAR's records.
#include "weft/readers/media/picture.h"

#include <algorithm>
#include <array>

#include "weft/core/quote.h"
#include "weft/readers/media/plain_file.h"
#include "weft/readers/media/png.h"
#include "weft/readers/media/pnm.h"

namespace weft::readers {
namespace {

// A record of CIFAR is its labels and three planes: red, green, blue. CIFAR-10 has one label, CIFAR-100 a coarse and a
// fine one.
constexpr PictureShape kCifarShape = {32, 32, 3};
constexpr std::int64_t kCifarPlane = 32 * 32;
constexpr std::int64_t kCifarPlanes = 3 * kCifarPlane;
constexpr std::int64_t kMostLabels = 2;
constexpr int kTenLabels = 10;
constexpr std::array<int, kMostLabels> kHundredLabels = {20, 100};

}  // namespace

std::string shape_text(const PictureShape& shape) {
  return concat(shape.height, " rows, ", shape.width, " columns, ", shape.channels,
                shape.channels == 1 ? " channel" : " channels");
}

void check_shape(const PictureShape& shape, std::string_view where) {
  // One side at a time: their product could leave 63 bits.
  const bool fits = shape.height >= 1 && shape.width >= 1 && shape.height <= kMostPictureBytes &&
                    shape.width <= kMostPictureBytes / shape.height && shape.bytes() <= kMostPictureBytes;
  if (!fits) {
    malformed(where, ": a picture must have at least one row and column, and at most ", kMostPictureBytes,
              " bytes, found ", shape_text(shape));
  }
}

PictureReader::PictureReader(const std::filesystem::path& path, const ReadOptions& options)
    : Reader(options), file_(open_plain(path)), name_(quote(path.native(), 4096)) {
  std::array<char, 8> head{};
  const std::string_view begin(head.data(), file_.read_at(0, head.data(), head.size()));
  if (begin == kPngSignature) {
    format_ = Format::kPng;
  } else if (begin.starts_with("P5") || begin.starts_with("P6")) {
    format_ = Format::kPnm;
  } else if (unpacked_name(path).extension() == ".bin") {
    find_cifar();
  } else {
    throw Error(
        ErrorKind::kFormat,
        concat(name_, ": expected a picture: PNG, PGM (P5), PPM (P6), or records of CIFAR-10 or CIFAR-100 in a ",
               "file .bin; found a file that begins with ", quote(begin)),
        "convert it, for example with: magick picture.jpg picture.png");
  }
}

void PictureReader::find_cifar() {
  format_ = Format::kCifar;
  const auto bytes = static_cast<std::int64_t>(file_.size());
  const auto is_of = [&](std::int64_t labels) { return bytes > 0 && bytes % (labels + kCifarPlanes) == 0; };
  if (!is_of(1) && !is_of(2)) {
    fail(ErrorKind::kFormat, name_, ": a file of CIFAR-10 has records of ", 1 + kCifarPlanes,
         " bytes and one of CIFAR-100 records of ", 2 + kCifarPlanes, " bytes, found ", bytes, " bytes");
  }
  labels_ = is_of(1) ? 1 : 2;
  if (is_of(1) && is_of(2) && !has_labels_of_ten()) {
    labels_ = 2;  // a size of both, from 9 MB on
  }
  size_ = bytes / (labels_ + kCifarPlanes);
}

bool PictureReader::has_labels_of_ten() const {
  unsigned char label = 0;
  for (std::uint64_t at = 0; at < file_.size() && label < kTenLabels; at += 1 + kCifarPlanes) {
    file_.read_at(at, &label, 1);
  }
  return label < kTenLabels;
}

PictureShape PictureReader::first_shape() const {
  switch (format_) {
    case Format::kPng:
      return png_shape(file_);
    case Format::kPnm:
      return pnm_header(file_).shape;
    case Format::kCifar:
      break;
  }
  return kCifarShape;
}

bool PictureReader::read(Picture& picture) {
  if (next_ == size_) {
    return false;
  }
  ++next_;
  switch (format_) {
    case Format::kPng:
      picture = read_png(file_);
      break;
    case Format::kPnm:
      picture = read_pnm(file_);
      break;
    case Format::kCifar:
      read_cifar(picture);
      break;
  }
  return true;
}

void PictureReader::read_cifar(Picture& picture) const {
  std::array<unsigned char, kMostLabels + kCifarPlanes> record{};
  const auto bytes = static_cast<std::size_t>(labels_ + kCifarPlanes);
  const std::uint64_t begin = static_cast<std::uint64_t>(next_ - 1) * bytes;
  if (file_.read_at(begin, record.data(), bytes) != bytes) {
    fail(ErrorKind::kIo, name_, " has shrunk while it was read: record ", next_, " of ", size_, " is gone");
  }
  if (labels_ == 1 && record[0] >= kTenLabels) {
    malformed(name_, " record ", next_, ": a record of CIFAR-10 begins with a label from 0 to 9, found ",
              static_cast<int>(record[0]));
  }
  if (labels_ == 2 && (record[0] >= kHundredLabels[0] || record[1] >= kHundredLabels[1])) {
    malformed(name_, " record ", next_, ": a record of CIFAR-100 begins with a label from 0 to 19 and one from 0 to 99",
              ", found ", static_cast<int>(record[0]), " and ", static_cast<int>(record[1]));
  }
  picture.shape = kCifarShape;
  picture.bytes.resize(static_cast<std::size_t>(kCifarShape.bytes()));
  for (std::int64_t channel = 0; channel < kCifarShape.channels; ++channel) {
    const unsigned char* plane = record.data() + labels_ + channel * kCifarPlane;
    for (std::int64_t pixel = 0; pixel < kCifarPlane; ++pixel) {
      picture.bytes[static_cast<std::size_t>(pixel * kCifarShape.channels + channel)] = plane[pixel];
    }
  }
}

}  // namespace weft::readers
