// SPDX-License-Identifier: Apache-2.0
// The files of pictures or of sound that a user names. Folders of such files hold others, too (lists of labels, a page
// that describes them): of a folder the names tell, and what is left out is said.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/readers/media/picture.h"

namespace weft::readers {

/// Of a folder the files whose names end in .png, .pgm, .ppm, .pnm or .bin are pictures, and those in .wav sound, also
/// with .gz behind; a file that is named itself is taken whatever its name. In the order of list_files().
struct MediaFiles {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> left_out = {};
};

/// Errors: as list_files(); kArgument for a path that holds none.
MediaFiles list_pictures(const std::vector<std::string>& paths);
MediaFiles list_sounds(const std::vector<std::string>& paths);

/// Warns on stderr of the files that were left out, if any.
void warn_of_left_out(const MediaFiles& list);

/// The shape of the first picture, which all others must have. Errors: as PictureReader.
PictureShape first_shape(const MediaFiles& pictures);

/// Throws kArgument naming both files where a picture of `file` has another shape than the first of `pictures`.
void check_same_shape(const MediaFiles& pictures, const PictureShape& expected, const std::filesystem::path& file,
                      const PictureShape& found);

}  // namespace weft::readers
