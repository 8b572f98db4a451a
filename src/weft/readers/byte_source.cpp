// SPDX-License-Identifier: Apache-2.0
// pread for what is on disk, read for what comes through a pipe, zlib's inflate for what is in it. A map would be
// SIGBUS when a file shrinks.
#include "weft/readers/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::readers {
namespace {

constexpr std::size_t kCompressedBytes = 1 << 16;
constexpr std::size_t kHeadBytes = 16;
constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, a gzip header

// A regular file, a FIFO or a device. Opening a FIFO waits for its writer, as in every program.
Descriptor open_stream(const std::filesystem::path& path, bool& regular) {
  Descriptor file(path, O_RDONLY | O_NOCTTY);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) {
    fail_io("read", path, errno);
  }
  if (S_ISDIR(status.st_mode)) {
    fail(ErrorKind::kIo, "cannot read ", quote(path.native(), 4096), ": it is a directory, expected a file");
  }
  regular = S_ISREG(status.st_mode);
  return file;
}

[[noreturn]] void refuse(const Compression& compression, const std::string& name, bool from_file) {
  const std::string hint = from_file ? concat("decompress it first: ", compression.command, " ", name)
                                     : concat("decompress it first, for example with ", compression.command);
  throw Error(ErrorKind::kFormat,
              concat(name, ": is compressed with ", compression.name, ", expected plain text or gzip"), hint);
}

}  // namespace

struct ByteSource::Inflate {
  Inflate() {
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Inflate() { inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  z_stream stream{};
  bool inside = true;  // of a member: the end of the file would be too early
};

ByteSource::ByteSource() = default;
ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;

ByteSource::ByteSource(const std::filesystem::path& path, Content content)
    : path_(path),
      name_(quote(path.native(), 4096)),
      file_(Descriptor::open_regular(path)),
      size_(file_.size()),
      marked_(content == Content::kAny) {
  look_at_head();
}

ByteSource ByteSource::stream(const std::filesystem::path& path) {
  ByteSource source;
  source.path_ = path;
  if (path == "-") {
    source.name_ = "standard input";
    source.regular_ = false;
    return source;
  }
  source.name_ = quote(path.native(), 4096);
  source.file_ = open_stream(path, source.regular_);
  source.size_ = source.regular_ ? source.file_.size() : 0;
  return source;
}

bool ByteSource::compressed() {
  look_at_head();
  return inflate_ != nullptr;
}

std::size_t ByteSource::read_file(char* destination, std::size_t bytes) {
  if (!regular_) {
    const int number = file_.number() < 0 ? STDIN_FILENO : file_.number();
    ssize_t got = 0;
    do {
      got = ::read(number, destination, bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      fail_io("read", file_.number() < 0 ? "standard input" : path_, errno);
    }
    offset_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset_));
  const std::size_t got = file_.read_at(offset_, destination, wanted);
  if (got < wanted) {
    fail(ErrorKind::kIo, name_, " has shrunk while it was read: it had ", size_, " bytes and now has ", file_.size());
  }
  offset_ += got;
  return got;
}

// Through a pipe no more is waited for than is needed: a program may want its first line answered before it goes on.
void ByteSource::look_at_head() {
  if (looked_) {
    return;
  }
  looked_ = true;
  std::array<char, kHeadBytes> bytes{};
  std::size_t got = 1;
  while (got > 0 && may_become_compressed(head_)) {
    got = read_file(bytes.data(), bytes.size() - head_.size());
    head_.append(bytes.data(), got);
  }
  const std::optional<Compression> compression = compression_of(head_);
  if (compression && !compression->command.empty()) {
    refuse(*compression, name_, path_ != "-");
  }
  if (compression) {
    compressed_.resize(kCompressedBytes);
    inflate_ = std::make_unique<Inflate>();
  }
}

// The bytes as they are stored, from the beginning.
std::size_t ByteSource::read_stored(char* destination, std::size_t bytes) {
  if (head_.empty()) {
    return read_file(destination, bytes);
  }
  const std::size_t got = std::min(bytes, head_.size());
  std::copy_n(head_.data(), got, destination);
  head_.erase(0, got);
  // A file's whole buffer is filled; a pipe gives what it has.
  return regular_ && got < bytes ? got + read_file(destination + got, bytes - got) : got;
}

// More compressed bytes for zlib; false at the end of the file.
bool ByteSource::fetch() {
  z_stream& stream = inflate_->stream;
  if (stream.avail_in == 0) {
    stream.next_in = reinterpret_cast<Bytef*>(compressed_.data());
    stream.avail_in = static_cast<uInt>(read_stored(compressed_.data(), compressed_.size()));
  }
  return stream.avail_in > 0;
}

// Behind a member: whether another follows. Blocks of tapes are filled up with zeros, which say nothing.
bool ByteSource::begin_member() {
  z_stream& stream = inflate_->stream;
  while (fetch() && *stream.next_in == 0) {
    ++stream.next_in;
    --stream.avail_in;
  }
  if (stream.avail_in == 0) {
    return false;
  }
  if (*stream.next_in != 0x1F) {
    fail(ErrorKind::kFormat, name_, ": gzip data are followed by something else, before byte ",
         offset_ - stream.avail_in);
  }
  inflateReset(&stream);
  inflate_->inside = true;
  return true;
}

std::size_t ByteSource::read_gzip(char* destination, std::size_t bytes) {
  z_stream& stream = inflate_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(destination);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, 1U << 30));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted && (inflate_->inside || begin_member())) {
    if (!fetch()) {
      fail(ErrorKind::kFormat, name_, ": the gzip data end in the middle");
    }
    const int state = inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) {
      fail(ErrorKind::kFormat, name_, ": the gzip data are damaged before byte ", offset_ - stream.avail_in,
           stream.msg == nullptr ? "" : concat(" (", stream.msg, ")"));
    }
    inflate_->inside = state != Z_STREAM_END;
  }
  return wanted - stream.avail_out;
}

std::size_t ByteSource::read_unpacked(char* destination, std::size_t bytes) {
  look_at_head();
  return inflate_ ? read_gzip(destination, bytes) : read_stored(destination, bytes);
}

// As with compression, no more is waited for than is needed.
void ByteSource::look_at_mark() {
  if (std::exchange(marked_, true)) {
    return;
  }
  char byte = 0;
  do {
    if (read_unpacked(&byte, 1) == 0) {
      break;
    }
    waiting_.push_back(byte);
  } while (may_become_byte_order_mark(waiting_));
  const std::optional<ByteOrderMark> mark = byte_order_mark(waiting_);
  if (!mark) {
    return;
  }
  using Encoding = ByteOrderMark::Encoding;
  if (mark->encoding == Encoding::kUtf32) {
    throw Error(ErrorKind::kFormat, concat(name_, ": is UTF-32, expected UTF-8, or UTF-16 with a byte order mark"),
                "convert it first, for example with: iconv -f UTF-32 -t UTF-8");
  }
  const std::string rest = waiting_.substr(mark->bytes.size());
  waiting_ = rest;
  if (mark->encoding == Encoding::kUtf8) {
    mark_bytes_ = mark->bytes.size();
    return;
  }
  waiting_.clear();
  utf16_.emplace(mark->encoding == Encoding::kUtf16Big);
  decode(rest);
}

void ByteSource::decode(std::string_view bytes) {
  if (!utf16_->add(bytes, waiting_)) {
    fail(ErrorKind::kFormat, name_, ": begins with a byte order mark of UTF-16, and has half a character behind byte ",
         utf16_->bytes());
  }
}

std::size_t ByteSource::read_utf16(char* destination, std::size_t bytes) {
  while (waiting_.empty()) {
    std::vector<char> piece(kCompressedBytes);
    const std::size_t got = read_unpacked(piece.data(), piece.size());
    decode({piece.data(), got});
    if (got == 0 && !utf16_->whole()) {
      fail(ErrorKind::kFormat, name_, ": begins with a byte order mark of UTF-16, and ends with half a character");
    }
    if (got == 0) {
      return 0;
    }
  }
  const std::size_t got = std::min(bytes, waiting_.size() - waiting_read_);
  std::copy_n(waiting_.data() + waiting_read_, got, destination);
  waiting_read_ += got;
  if (waiting_read_ == waiting_.size()) {
    waiting_.clear();
    waiting_read_ = 0;
  }
  return got;
}

std::size_t ByteSource::read_text(char* destination, std::size_t bytes) {
  look_at_mark();
  if (utf16_) {
    return read_utf16(destination, bytes);
  }
  if (waiting_.empty()) {
    return read_unpacked(destination, bytes);
  }
  const std::size_t got = std::min(bytes, waiting_.size());
  std::copy_n(waiting_.data(), got, destination);
  waiting_.erase(0, got);
  // A file's whole buffer is filled; a pipe gives what it has.
  return regular_ && got < bytes ? got + read_unpacked(destination + got, bytes - got) : got;
}

std::optional<std::uint64_t> ByteSource::stored_text() {
  look_at_mark();
  return compressed() || utf16_ ? std::nullopt : std::optional(mark_bytes_);
}

std::size_t ByteSource::read(char* destination, std::size_t bytes) {
  if (line_read_ == line_.size()) {
    return read_text(destination, bytes);
  }
  const std::size_t got = std::min(bytes, line_.size() - line_read_);
  std::copy_n(line_.data() + line_read_, got, destination);
  line_read_ += got;
  if (line_read_ == line_.size()) {
    line_ = {};
    line_read_ = 0;
  }
  return got;
}

// Appends to line_ what comes next; false at the end.
bool ByteSource::read_on() {
  std::vector<char> piece(kCompressedBytes);
  const std::size_t got = read_text(piece.data(), piece.size());
  line_.append(piece.data(), got);
  return got > 0;
}

std::string_view ByteSource::first_line(std::size_t limit) {
  std::size_t looked = 0;
  std::size_t end = line_.find('\n');
  while (end == std::string::npos && line_.size() < limit) {
    looked = line_.size();
    if (!read_on()) {
      break;
    }
    end = line_.find('\n', looked);
  }
  return std::string_view(line_).substr(0, std::min(limit, end == std::string::npos ? line_.size() : end + 1));
}

std::string_view ByteSource::head(std::size_t limit) {
  while (line_.size() < limit && read_on()) {
  }
  return std::string_view(line_).substr(0, std::min(limit, line_.size()));
}

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kBlockMagic = "\x31\x41\x59\x26\x53\x59"sv;
constexpr std::string_view kEndMagic = "\x17\x72\x45\x38\x50\x90"sv;
constexpr std::size_t kLevelPlace = 3;  // of the digit in "BZh9"

constexpr std::array kKnown = {
    Compression{"gzip", "\x1F\x8B"sv, ""},
    Compression{"xz",
                "\xFD"
                "7zXZ\0"sv,
                "xz --decompress --keep"},
    Compression{"zstd", "\x28\xB5\x2F\xFD"sv, "zstd --decompress"},
    Compression{"zip", "PK\x03\x04"sv, "unzip"},
    Compression{"zip", "PK\x05\x06"sv, "unzip"},
    Compression{"lz4", "\x04\x22\x4D\x18"sv, "lz4 --decompress"},
    Compression{"7z", "7z\xBC\xAF\x27\x1C"sv, "7z x"},
};
constexpr Compression kBzip2 = {"bzip2", "BZh"sv, "bzip2 --decompress --keep"};

bool agree(std::string_view left, std::string_view right) {
  const std::size_t length = std::min(left.size(), right.size());
  return left.substr(0, length) == right.substr(0, length);
}

// Whether `head`, which may be shorter, is that of bzip2 as far as it goes.
bool agrees_with_bzip2(std::string_view head) {
  if (!agree(head, kBzip2.magic) || head.size() <= kLevelPlace) {
    return agree(head, kBzip2.magic);
  }
  const std::string_view block = head.substr(kLevelPlace + 1);
  const bool level = head[kLevelPlace] >= '1' && head[kLevelPlace] <= '9';
  return level && (agree(block, kBlockMagic) || agree(block, kEndMagic));
}

}  // namespace

std::optional<Compression> compression_of(std::string_view head) {
  const auto* found = std::find_if(kKnown.begin(), kKnown.end(),
                                   [&](const Compression& known) { return head.starts_with(known.magic); });
  if (found != kKnown.end()) {
    return *found;
  }
  const bool whole = head.size() > kLevelPlace + kBlockMagic.size();
  return whole && agrees_with_bzip2(head) ? std::optional(kBzip2) : std::nullopt;
}

bool may_become_compressed(std::string_view head) {
  if (compression_of(head)) {
    return false;
  }
  const bool bzip2 = head.size() <= kLevelPlace + kBlockMagic.size() && agrees_with_bzip2(head);
  return bzip2 || std::any_of(kKnown.begin(), kKnown.end(), [&](const Compression& known) {
           return head.size() < known.magic.size() && known.magic.starts_with(head);
         });
}

}  // namespace weft::readers
