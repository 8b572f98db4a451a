// SPDX-License-Identifier: Apache-2.0
// Which format a file has, and CIFAR-10's records.
#include "weft/readers/media/picture.h"

#include <algorithm>
#include <array>

#include "weft/core/quote.h"
#include "weft/readers/media/png.h"
#include "weft/readers/media/pnm.h"

namespace weft::readers {
namespace {

// A record of CIFAR-10 is a label and three planes: red, green, blue.
constexpr PictureShape kCifarShape = {32, 32, 3};
constexpr std::int64_t kCifarPlane = 32 * 32;
constexpr std::int64_t kCifarRecord = 1 + 3 * kCifarPlane;
constexpr int kCifarLabels = 10;

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
    : Reader(options), file_(Descriptor::open_regular(path)), name_(quote(path.native(), 4096)) {
  std::array<char, 8> head{};
  const std::string_view begin(head.data(), file_.read_at(0, head.data(), head.size()));
  if (begin == kPngSignature) {
    format_ = Format::kPng;
  } else if (begin.starts_with("P5") || begin.starts_with("P6")) {
    format_ = Format::kPnm;
  } else if (path.extension() == ".bin") {
    format_ = Format::kCifar;
    const auto bytes = static_cast<std::int64_t>(file_.size());
    if (bytes == 0 || bytes % kCifarRecord != 0) {
      fail(ErrorKind::kFormat, name_, ": a file of CIFAR-10 has records of ", kCifarRecord, " bytes, found ", bytes,
           " bytes");
    }
    size_ = bytes / kCifarRecord;
  } else {
    throw Error(ErrorKind::kFormat,
                concat(name_, ": expected a picture: PNG, PGM (P5), PPM (P6) or CIFAR-10's records in a file .bin; ",
                       "found a file that begins with ", quote(begin)),
                "convert it, for example with: magick picture.jpg picture.png");
  }
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
  std::array<unsigned char, kCifarRecord> record{};
  const auto begin = static_cast<std::uint64_t>((next_ - 1) * kCifarRecord);
  if (file_.read_at(begin, record.data(), record.size()) != record.size()) {
    fail(ErrorKind::kIo, name_, " has shrunk while it was read: record ", next_, " of ", size_, " is gone");
  }
  if (record[0] >= kCifarLabels) {
    malformed(name_, " record ", next_, ": a record of CIFAR-10 begins with a label from 0 to 9, found ",
              static_cast<int>(record[0]));
  }
  picture.shape = kCifarShape;
  picture.bytes.resize(static_cast<std::size_t>(kCifarShape.bytes()));
  for (std::int64_t channel = 0; channel < kCifarShape.channels; ++channel) {
    const unsigned char* plane = record.data() + 1 + channel * kCifarPlane;
    for (std::int64_t pixel = 0; pixel < kCifarPlane; ++pixel) {
      picture.bytes[static_cast<std::size_t>(pixel * kCifarShape.channels + channel)] = plane[pixel];
    }
  }
}

}  // namespace weft::readers
