// SPDX-License-Identifier: Apache-2.0
// Pictures as bytes in raster order: what a model of pictures reads one after another. PNG through libpng; PGM, PPM and
// the binary files of CIFAR-10 and CIFAR-100 by parsers of our own; each of them also as gzip. Nothing is converted in
// silence: what 8-bit grey or RGB cannot hold is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/readers/reader.h"

namespace weft::readers {

/// Bytes of the largest picture that is read.
inline constexpr std::int64_t kMostPictureBytes = std::int64_t{1} << 26;

/// Rows, columns, and 1 (grey) or 3 (red, green, blue) channels.
struct PictureShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t bytes() const noexcept { return height * width * channels; }
  bool operator==(const PictureShape&) const = default;
};

/// "32 rows, 32 columns, 3 channels".
std::string shape_text(const PictureShape& shape);

/// Throws MalformedRecord for sides below 1 and for more than kMostPictureBytes. `where` names file and format.
void check_shape(const PictureShape& shape, std::string_view where);

/// A byte of row r, column c and channel k is number (r * width + c) * channels + k.
struct Picture {
  PictureShape shape;
  std::vector<unsigned char> bytes;
};

/// The pictures of one file: one, or as many as a file of CIFAR has. What a file is, its first bytes say; CIFAR's have
/// none, and are known by their name (.bin) and told apart by their size. One picture is in memory at a time.
class PictureReader final : public Reader<Picture> {
 public:
  /// Errors: kIo for what is no regular file; kFormat for a file of no format that is read, naming those that are.
  explicit PictureReader(const std::filesystem::path& path, const ReadOptions& options = {});

  /// Pictures of the file.
  std::int64_t size() const noexcept { return size_; }
  /// Of the first picture, with no more of it read than is needed to know. Errors: as next().
  PictureShape first_shape() const;

 protected:
  bool read(Picture& picture) override;

 private:
  enum class Format { kPng, kPnm, kCifar };
  void find_cifar();
  bool has_labels_of_ten() const;
  void read_cifar(Picture& picture) const;

  Descriptor file_;
  std::string name_;  // the path in quotes
  Format format_ = Format::kPng;
  std::int64_t labels_ = 1;  // bytes of a record of CIFAR before its planes: 1, or 2 of CIFAR-100
  std::int64_t size_ = 1;
  std::int64_t next_ = 0;
};

}  // namespace weft::readers
