// SPDX-License-Identifier: Apache-2.0
// Decoding into the scratch file, and reading across the borders of items.
#include "weft/data/picture_tokens.h"

#include <algorithm>
#include <limits>

#include "weft/core/disk/scratch_file.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/readers/media/media_files.h"

namespace weft::data {

PictureTokens::PictureTokens(const std::vector<std::string>& paths, std::int64_t maximum)
    : scratch_(scratch_file("pictures")) {
  const readers::MediaFiles list = readers::list_pictures(paths);
  readers::warn_of_left_out(list);
  shape_ = readers::first_shape(list);
  const std::int64_t most = maximum == 0 ? std::numeric_limits<std::int64_t>::max() : maximum;
  ProgressBar bar("reading pictures", static_cast<double>(list.files.size()));
  double files = 0;
  for (const std::filesystem::path& file : list.files) {
    readers::PictureReader reader(file);
    readers::Picture picture;
    while (pictures_ * shape_.bytes() < most && reader.next(picture)) {
      readers::check_same_shape(list, shape_, file, picture.shape);
      write_scratch(scratch_, picture.bytes.data(), picture.bytes.size());
      ++pictures_;
    }
    bar.update(++files);
  }
}

void PictureTokens::read(std::int64_t begin, std::span<std::int64_t> ids) const {
  const auto count = static_cast<std::int64_t>(ids.size());
  require(begin >= 0 && begin <= size() - count, "tokens ", begin, " to ", begin + count, " are not in ", size(),
          " tokens of pictures");
  std::vector<unsigned char> bytes;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t picture = (begin + done) / item();
    const std::int64_t place = (begin + done) % item();
    if (place == 0) {
      ids[static_cast<std::size_t>(done++)] = kBeginOfPicture;
      continue;
    }
    const std::int64_t piece = std::min(item() - place, count - done);
    bytes.resize(static_cast<std::size_t>(piece));
    const auto offset = static_cast<std::uint64_t>(picture * shape_.bytes() + place - 1);
    if (scratch_.read_at(offset, bytes.data(), bytes.size()) != bytes.size()) {
      fail(ErrorKind::kIo, "the scratch file with the pictures has shrunk");
    }
    std::copy(bytes.begin(), bytes.end(), ids.begin() + done);
    done += piece;
  }
}

}  // namespace weft::data
