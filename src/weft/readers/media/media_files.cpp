// SPDX-License-Identifier: Apache-2.0
// Names that tell pictures and sound, in small or capital letters.
#include "weft/readers/media/media_files.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/text/small_letters.h"
#include "weft/readers/file_list.h"
#include "weft/readers/media/plain_file.h"

namespace weft::readers {
namespace {

struct MediaKind {
  std::string_view name;
  std::vector<std::string_view> endings;
};

bool has_ending(const std::filesystem::path& file, const MediaKind& kind) {
  const std::string ending = unpacked_name(small_letters(file.filename().string())).extension().string();
  return std::find(kind.endings.begin(), kind.endings.end(), ending) != kind.endings.end();
}

MediaFiles list_media(const std::vector<std::string>& paths, const MediaKind& kind) {
  require(!paths.empty(), "no ", kind.name, " was given: expected files or folders");
  MediaFiles list;
  for (const std::string& path : paths) {
    std::error_code unknown;  // list_files() says what is wrong with a path
    const bool folder = std::filesystem::is_directory(path, unknown);
    const std::size_t before = list.files.size();
    for (std::filesystem::path& file : list_files({path})) {
      (!folder || has_ending(file, kind) ? list.files : list.left_out).push_back(std::move(file));
    }
    require(list.files.size() > before, Quoted(path, 4096), " holds no ", kind.name,
            ": expected files whose names end in ", [&] { return joined(kind.endings, ", "); });
  }
  return list;
}

}  // namespace

MediaFiles list_pictures(const std::vector<std::string>& paths) {
  return list_media(paths, {"picture", {".png", ".pgm", ".ppm", ".pnm", ".bin"}});
}

MediaFiles list_sounds(const std::vector<std::string>& paths) { return list_media(paths, {"sound", {".wav"}}); }

void warn_of_left_out(const MediaFiles& list) {
  if (!list.left_out.empty()) {
    log_warning(list.left_out.size(), list.left_out.size() == 1 ? " file" : " files",
                " of the folders were left out, as their names tell; the first is ",
                quote(list.left_out.front().native(), 4096));
  }
}

PictureShape first_shape(const MediaFiles& pictures) { return PictureReader(pictures.files.front()).first_shape(); }

void check_same_shape(const MediaFiles& pictures, const PictureShape& expected, const std::filesystem::path& file,
                      const PictureShape& found) {
  if (found == expected) {
    return;
  }
  throw Error(ErrorKind::kArgument,
              concat(quote(file.native(), 4096), ": all pictures must have one size: expected ", shape_text(expected),
                     ", as ", quote(pictures.files.front().native(), 4096), " has, found ", shape_text(found)),
              "leave it out, or make all of them equal, for example with: magick in.png -resize 32x32! out.png");
}

}  // namespace weft::readers
