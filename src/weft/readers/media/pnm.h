// SPDX-License-Identifier: Apache-2.0
// Binary PGM (P5) and PPM (P6): a header of words and comments, then the bytes as they are.
#pragma once

#include "weft/readers/media/picture.h"

namespace weft::readers {

/// What stands before the bytes.
struct PnmHeader {
  PictureShape shape;
  std::uint64_t bytes = 0;  ///< of the header
};

/// Errors: MalformedRecord naming the file, what is wrong, what is expected and what was found: a number that is none,
/// a largest value other than 255, no picture.
PnmHeader pnm_header(const Descriptor& file);

/// The one picture of a file. Errors: as above, and for bytes that are missing or too many.
Picture read_pnm(const Descriptor& file);

}  // namespace weft::readers
