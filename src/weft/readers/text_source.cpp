// SPDX-License-Identifier: Apache-2.0
// A buffer over the bytes, and the counting of lines.
#include "weft/readers/text_source.h"

#include <cstring>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/utf8.h"

namespace weft::readers {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

}  // namespace

TextSource::TextSource(const std::filesystem::path& path, const ReadOptions& options)
    : TextSource(ByteSource(path), options) {}

TextSource::TextSource(ByteSource bytes, const ReadOptions& options)
    : bytes_(std::move(bytes)), options_(options), buffer_(kBufferBytes) {
  fill();
}

bool TextSource::fill() {
  if (position_ < filled_) {
    return true;
  }
  buffer_offset_ += filled_;
  position_ = 0;
  filled_ = bytes_.read(buffer_.data(), buffer_.size());
  return filled_ > 0;
}

void TextSource::check_length() const {
  // No MalformedRecord: what follows would be the rest of the same record.
  if (offset() - record_begin_ > options_.max_record_bytes) {
    fail(ErrorKind::kFormat, where(), ": a record must have at most ", options_.max_record_bytes,
         " bytes, found more from byte ", record_begin_, " on");
  }
}

int TextSource::get() {
  if (!fill()) {
    return kEnd;
  }
  const auto byte = static_cast<unsigned char>(buffer_[position_++]);
  line_ += line_ended_ ? 1 : 0;
  line_ended_ = byte == '\n';
  check_length();
  return byte;
}

int TextSource::peek() { return fill() ? static_cast<unsigned char>(buffer_[position_]) : kEnd; }

bool TextSource::next_line(std::string& line) {
  line.clear();
  if (!fill()) {
    return false;
  }
  line_ += line_ended_ ? 1 : 0;
  line_ended_ = false;
  while (!line_ended_ && fill()) {
    const char* begin = buffer_.data() + position_;
    const void* found = std::memchr(begin, '\n', filled_ - position_);
    const char* end = found == nullptr ? buffer_.data() + filled_ : static_cast<const char*>(found);
    line.append(begin, end);
    line_ended_ = found != nullptr;
    position_ = static_cast<std::size_t>(end - buffer_.data()) + (line_ended_ ? 1 : 0);
    check_length();
  }
  if (line.ends_with('\r')) {
    line.pop_back();
  }
  return true;
}

std::string TextSource::where(std::int64_t line) const { return concat(bytes_.name(), " line ", line); }

void check_utf8(std::string_view text, const std::string& where) {
  const std::size_t valid = text::valid_utf8_prefix(text);
  if (valid < text.size()) {
    malformed(where, ": the text must be UTF-8, found ", quote(text.substr(valid, 4)), " at its byte ", valid);
  }
}

}  // namespace weft::readers
