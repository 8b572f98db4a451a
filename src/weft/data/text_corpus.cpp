// SPDX-License-Identifier: Apache-2.0
// The files of a corpus in one run of bytes, and reading any range of them.
#include "weft/data/text_corpus.h"

#include <algorithm>

#include "weft/core/descriptor.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/readers/file_list.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;

std::string named(const fs::path& path) { return quote(path.native(), 4096); }

}  // namespace

TextCorpus::TextCorpus(const std::vector<std::string>& paths) {
  require(!paths.empty(), "no text was given: expected files or folders");
  for (const fs::path path : paths) {
    const std::int64_t before = bytes_;
    for (const fs::path& file : readers::list_files({path.native()})) {
      add(file);
    }
    // More likely a wrong path than a wish to train on nothing.
    if (bytes_ == before) {
      fail(ErrorKind::kIo, named(path), " holds no text: it is an empty ", fs::is_directory(path) ? "folder" : "file");
    }
  }
}

void TextCorpus::add(const fs::path& file) {
  const Descriptor descriptor = Descriptor::open_regular(file);
  const auto size = static_cast<std::int64_t>(descriptor.size());
  if (size > 0) {
    files_.push_back({file, bytes_, size});
    bytes_ += size;
  }
}

void TextCorpus::read(std::int64_t begin, std::int64_t count, char* destination) const {
  require(begin >= 0 && count >= 0 && begin <= bytes_ - count, "bytes ", begin, " to ", begin + count,
          " are not in a corpus of ", bytes_, " bytes");
  // The last file that begins at or before `begin`; files without a byte are not in the list.
  auto file =
      std::upper_bound(files_.begin(), files_.end(), begin,
                       [](std::int64_t position, const TextFile& candidate) { return position < candidate.begin; });
  for (--file; count > 0; ++file) {
    const std::int64_t offset = begin - file->begin;
    const std::int64_t wanted = std::min(count, file->bytes - offset);
    const Descriptor descriptor = Descriptor::open_regular(file->path);
    const auto got =
        descriptor.read_at(static_cast<std::uint64_t>(offset), destination, static_cast<std::size_t>(wanted));
    // Positions of later files rest on the sizes found at the start: a file that shrank makes them wrong.
    if (static_cast<std::int64_t>(got) != wanted) {
      fail(ErrorKind::kIo, named(file->path), " has shrunk while it was read: it had ", file->bytes,
           " bytes and now has ", descriptor.size());
    }
    begin += wanted;
    count -= wanted;
    destination += wanted;
  }
}

std::string TextCorpus::text(std::int64_t maximum) const {
  std::string result(static_cast<std::size_t>(maximum > 0 ? std::min(maximum, bytes_) : bytes_), '\0');
  read(0, static_cast<std::int64_t>(result.size()), result.data());
  return result;
}

}  // namespace weft::data
