// SPDX-License-Identifier: Apache-2.0
// The header's words; a comment goes from # to the end of its line and may stand before any of them.
#include "weft/readers/media/pnm.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "weft/core/quote.h"

namespace weft::readers {
namespace {

constexpr std::size_t kMostHeader = 4096;  // comments included
constexpr std::size_t kMostDigits = 9;

class PnmWords {
 public:
  PnmWords(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  /// The number that `what` stands for, and the one blank behind it.
  std::int64_t number(std::string_view what) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      ++at_;
    }
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits.empty() || digits.size() > kMostDigits || at_ == text_.size() || !is_blank(text_[at_])) {
      malformed(where_, ": expected its ", what, ", a number and a blank, found ", quote(text_.substr(begin, 12)));
    }
    ++at_;
    return std::stoll(std::string(digits));
  }
  std::size_t position() const noexcept { return at_; }

 private:
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  void skip_blanks() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '#')) {
      at_ = text_[at_] == '#' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
    }
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 2;  // behind P5 or P6
};

}  // namespace

PnmHeader pnm_header(const Descriptor& file) {
  std::string text(kMostHeader, '\0');
  text.resize(file.read_at(0, text.data(), text.size()));
  const bool colour = text.starts_with("P6");
  const std::string where = concat(quote(file.path().native(), 4096), ", a file of ", colour ? "PPM" : "PGM");
  PnmWords words(text, where);
  PnmHeader header;
  header.shape.width = words.number("width");
  header.shape.height = words.number("height");
  header.shape.channels = colour ? 3 : 1;
  const std::int64_t largest = words.number("largest value");
  if (largest != 255) {
    malformed(where, ": its largest value must be 255, one byte, found ", largest);
  }
  check_shape(header.shape, where);
  header.bytes = words.position();
  return header;
}

Picture read_pnm(const Descriptor& file) {
  const PnmHeader header = pnm_header(file);
  const auto expected = static_cast<std::uint64_t>(header.shape.bytes());
  const std::uint64_t found = file.size() - std::min(file.size(), header.bytes);
  if (found != expected) {
    malformed(quote(file.path().native(), 4096), ": a picture of ", shape_text(header.shape), " has ", expected,
              " bytes behind the header, found ", found);
  }
  Picture picture{header.shape, std::vector<unsigned char>(expected)};
  if (file.read_at(header.bytes, picture.bytes.data(), picture.bytes.size()) != expected) {
    fail(ErrorKind::kIo, quote(file.path().native(), 4096), " has shrunk while it was read");
  }
  return picture;
}

}  // namespace weft::readers
