// SPDX-License-Identifier: Apache-2.0
// Pictures as items of tokens: an id that begins one, then its bytes in raster order. The files are decoded once, into
// a scratch file, so that memory does not grow with them and a picture is read where it lies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/data/token_source.h"
#include "weft/readers/media/picture.h"

namespace weft::data {

/// The id before the bytes of a picture, and how many ids there are with it.
inline constexpr std::int64_t kBeginOfPicture = 256;
inline constexpr std::int64_t kPictureVocabulary = 257;

/// Items of shape().bytes() + 1 tokens.
class PictureTokens final : public TokenSource {
 public:
  /// `paths` as readers::list_pictures() has them. `maximum` bytes or more end the list, behind one picture at least; 0
  /// is all of it. Errors: kArgument that names the files where pictures differ in shape; kIo and kFormat as
  /// readers::PictureReader, kIo where the scratch file does not fit.
  explicit PictureTokens(const std::vector<std::string>& paths, std::int64_t maximum = 0);

  const readers::PictureShape& shape() const noexcept { return shape_; }
  std::int64_t pictures() const noexcept { return pictures_; }
  std::int64_t size() const override { return pictures_ * item(); }
  void read(std::int64_t begin, std::span<std::int64_t> ids) const override;

 private:
  std::int64_t item() const noexcept { return 1 + shape_.bytes(); }

  readers::PictureShape shape_;
  std::int64_t pictures_ = 0;
  Descriptor scratch_;
};

}  // namespace weft::data
