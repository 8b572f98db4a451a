// SPDX-License-Identifier: Apache-2.0
// PNG both ways, through libpng: grey or RGB of 8 bits a channel. Palettes and fewer bits become that without loss, and
// interlaced files are read; 16 bits and transparency would lose something, and are refused.
#pragma once

#include <string>
#include <string_view>

#include "weft/readers/media/picture.h"

namespace weft::readers {

/// The first eight bytes of every PNG.
inline constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);

/// From the header alone. Errors: MalformedRecord naming the file, what is wrong, what is expected and what was found.
PictureShape png_shape(const Descriptor& file);

/// The picture of a file that begins with kPngSignature, byte for byte: gamma and colour profiles are not applied.
/// Errors: as png_shape(), and with libpng's reason for data that are damaged or cut off; kIo.
Picture read_png(const Descriptor& file);

/// A file's bytes. Errors: kArgument for a shape that is none, or bytes that do not fit it.
std::string png_of(const Picture& picture);

}  // namespace weft::readers
