// SPDX-License-Identifier: Apache-2.0
// The files of a corpus in one run of bytes, and reading any range of them.
#include "weft/data/text_corpus.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "weft/core/disk/scratch_file.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/data/token_source.h"
#include "weft/readers/file_list.h"
#include "weft/readers/input/no_text.h"
#include "weft/readers/media/media_files.h"
#include "weft/readers/media/wav.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnpackedAtOnce = std::size_t{1} << 20;  // bytes of text

std::string named(const fs::path& path) { return quote(path.native(), 4096); }

std::int64_t modified(const Descriptor& file) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) {
    fail_io("read", file.path(), errno);
  }
  return status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec;
}

}  // namespace

TextCorpus::TextCorpus(const std::vector<std::string>& paths, std::int64_t maximum, Content content)
    : maximum_(maximum > 0 ? maximum : std::numeric_limits<std::int64_t>::max()) {
  if (content == Content::kText) {
    add_text(paths);
  } else {
    add_sound(paths, content == Content::kFirstChannel);
  }
}

void TextCorpus::add_text(const std::vector<std::string>& paths) {
  require(!paths.empty(), "no text was given: expected files or folders");
  for (const fs::path path : paths) {
    const bool full = bytes_ == maximum_;
    const std::int64_t before = bytes_;
    for (const fs::path& file : readers::list_files({path.native()})) {
      add(file);
    }
    // More likely a wrong path than a wish to train on nothing.
    if (bytes_ == before && !full) {
      fail(ErrorKind::kIo, named(path), " holds no text: it is an empty ", fs::is_directory(path) ? "folder" : "file");
    }
  }
}

void TextCorpus::need_scratch_file() {
  if (scratch_.number() < 0) {
    scratch_ = scratch_file("text");
  }
}

void TextCorpus::add_sound(const std::vector<std::string>& paths, bool first_channel) {
  const readers::MediaFiles list = readers::list_sounds(paths);
  readers::warn_of_left_out(list);
  need_scratch_file();
  ProgressBar bar("reading sound", static_cast<double>(list.files.size()));
  double files = 0;
  std::vector<char> piece;
  for (const fs::path& path : list.files) {
    const readers::WavFile wav(path);
    if (wav.channels() > 1 && !first_channel) {
      throw Error(ErrorKind::kArgument, concat(named(path), ": expected sound of one channel, found ", wav.channels()),
                  concat(option("audio_channel"), " first takes the first one of each file"));
    }
    rate_ = rate_ == 0 ? wav.rate() : rate_;
    require(
        wav.rate() == rate_, [&] { return named(path); }, ": all sound must have one rate: expected ", rate_,
        " samples a second, as ", [&] { return named(list.files.front()); }, " has, found ", wav.rate());
    const std::int64_t count = std::min(wav.samples(), maximum_ - bytes_);
    for (std::int64_t done = 0; done < count; done += std::ssize(piece)) {
      piece.resize(std::min(kUnpackedAtOnce, static_cast<std::size_t>(count - done)));
      wav.read(done, std::ssize(piece), piece.data());
      write_scratch(scratch_, piece.data(), piece.size());
    }
    if (count > 0) {
      files_.push_back({path, bytes_, count, unpacked_});
    }
    bytes_ += count;
    unpacked_ += count;
    bar.update(++files);
  }
  require(bytes_ > 0, [&] { return named(list.files.front()); }, ": expected sound, found no sample in all files");
}

void TextCorpus::add(const fs::path& file) {
  readers::ByteSource source(file);
  readers::refuse_no_text(source);
  TextFile text{file, bytes_, 0};
  if (const std::optional<std::uint64_t> begin = source.stored_text()) {
    text.modified = modified(Descriptor::open_regular(file));
    text.skipped = static_cast<std::int64_t>(*begin);
    text.bytes = std::min(static_cast<std::int64_t>(source.stored_bytes()) - text.skipped, maximum_ - bytes_);
  } else {
    text.unpacked = unpacked_;
    text.bytes = unpack(source);
  }
  if (text.bytes > 0) {
    bytes_ += text.bytes;
    files_.push_back(std::move(text));
  }
}

// Appends the text of a gzip file, or of UTF-16, to the scratch file; its bytes.
std::int64_t TextCorpus::unpack(readers::ByteSource& source) {
  need_scratch_file();
  std::vector<char> piece(kUnpackedAtOnce);
  ProgressBar bar("unpacking text", 0);
  const std::int64_t before = unpacked_;
  const std::int64_t room = maximum_ - bytes_;
  for (std::size_t got = 1; got > 0 && unpacked_ - before < room;) {
    got = source.read(piece.data(), piece.size());
    got = std::min(got, static_cast<std::size_t>(room - (unpacked_ - before)));
    write_scratch(scratch_, piece.data(), got);
    unpacked_ += static_cast<std::int64_t>(got);
    bar.update(static_cast<double>(unpacked_ - before));
  }
  return unpacked_ - before;
}

void TextCorpus::remember_content() const {
  for (const TextFile& file : files_) {
    if (file.unpacked < 0) {
      known_->remember(file.path);
    }
  }
}

void TextCorpus::read_plain(const TextFile& file, std::int64_t offset, std::int64_t count, char* destination) const {
  const Descriptor descriptor = Descriptor::open_regular(file.path);
  const std::size_t got = descriptor.read_at(static_cast<std::uint64_t>(file.skipped + offset), destination,
                                             static_cast<std::size_t>(count));
  // Positions of later files rest on the sizes found at the start: a file that shrank makes them wrong.
  if (static_cast<std::int64_t>(got) != count ||
      static_cast<std::int64_t>(descriptor.size()) < file.skipped + file.bytes) {
    fail(ErrorKind::kIo, named(file.path), " has shrunk while it was read: it had ", file.skipped + file.bytes,
         " bytes and now has ", descriptor.size());
  }
  const std::int64_t written = modified(descriptor);
  if (written != file.modified && !known_->still_holds(file.path, written)) {
    throw Error(ErrorKind::kIo,
                concat(named(file.path), " was written while it was in use: it is not the text any more that it was"),
                concat("put the file back as it was; a training run then goes on with ", option("resume")));
  }
}

void TextCorpus::read_unpacked(const TextFile& file, std::int64_t offset, std::int64_t count, char* destination) const {
  const std::size_t got = scratch_.read_at(static_cast<std::uint64_t>(file.unpacked + offset), destination,
                                           static_cast<std::size_t>(count));
  if (static_cast<std::int64_t>(got) != count) {
    fail(ErrorKind::kIo, "the scratch file with the text of ", named(file.path), " has shrunk");
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
    if (file->unpacked < 0) {
      read_plain(*file, offset, wanted, destination);
    } else {
      read_unpacked(*file, offset, wanted, destination);
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
