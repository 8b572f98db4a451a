// SPDX-License-Identifier: Apache-2.0
// pread for what is on disk, zlib's inflate for what is in it. A map would be SIGBUS when a file shrinks.
#include "weft/readers/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::readers {
namespace {

constexpr std::size_t kCompressedBytes = 1 << 16;
constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, a gzip header

std::string named(const std::filesystem::path& path) { return quote(path.native(), 4096); }

bool is_gzip(const Descriptor& file) {
  std::array<unsigned char, 2> magic{};
  return file.read_at(0, magic.data(), magic.size()) == magic.size() && magic[0] == 0x1F && magic[1] == 0x8B;
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

ByteSource::ByteSource(const std::filesystem::path& path) : file_(Descriptor::open_regular(path)), size_(file_.size()) {
  if (is_gzip(file_)) {
    compressed_.resize(kCompressedBytes);
    inflate_ = std::make_unique<Inflate>();
  }
}

ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(char* destination, std::size_t bytes) {
  return inflate_ ? read_gzip(destination, bytes) : read_file(destination, bytes);
}

std::size_t ByteSource::read_file(char* destination, std::size_t bytes) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset_));
  const std::size_t got = file_.read_at(offset_, destination, wanted);
  if (got < wanted) {
    fail(ErrorKind::kIo, named(path()), " has shrunk while it was read: it had ", size_, " bytes and now has ",
         file_.size());
  }
  offset_ += got;
  return got;
}

// More compressed bytes for zlib; false at the end of the file.
bool ByteSource::fetch() {
  z_stream& stream = inflate_->stream;
  if (stream.avail_in == 0) {
    stream.next_in = reinterpret_cast<Bytef*>(compressed_.data());
    stream.avail_in = static_cast<uInt>(read_file(compressed_.data(), compressed_.size()));
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
    fail(ErrorKind::kFormat, named(path()), ": gzip data are followed by something else, before byte ",
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
      fail(ErrorKind::kFormat, named(path()), ": the gzip data end in the middle");
    }
    const int state = inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) {
      fail(ErrorKind::kFormat, named(path()), ": the gzip data are damaged before byte ", offset_ - stream.avail_in,
           stream.msg == nullptr ? "" : concat(" (", stream.msg, ")"));
    }
    inflate_->inside = state != Z_STREAM_END;
  }
  return wanted - stream.avail_out;
}

}  // namespace weft::readers
