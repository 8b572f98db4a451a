// SPDX-License-Identifier: Apache-2.0
// Streams by decoding a short window of ids again for every new one: what decode() of a piece says may depend on the
// pieces before it.
#include "weft/text/stream_decoder.h"

#include <string_view>
#include <utility>

#include "weft/text/utf8.h"

namespace weft::text {
namespace {

// Bytes at the end of `text` that later ids may still change: a character lacks at most its last three bytes, and then
// there are at most three of them.
std::size_t open_tail(std::string_view text) {
  std::size_t tail = incomplete_utf8_tail(text);
  while (tail < 3 * kReplacement.size() && text.substr(0, text.size() - tail).ends_with(kReplacement)) {
    tail += kReplacement.size();
  }
  return tail;
}

}  // namespace

std::string StreamDecoder::push(std::int64_t id) {
  std::vector<std::int64_t> window = window_;
  window.push_back(id);
  const std::string text = tokenizer_.decode(window);
  window_ = std::move(window);
  if (text.size() <= emitted_) {
    return {};
  }
  const std::size_t tail = open_tail(std::string_view(text).substr(emitted_));
  std::string fresh = text.substr(emitted_, text.size() - tail - emitted_);
  emitted_ += fresh.size();
  shorten_window(tail);
  return fresh;
}

void StreamDecoder::shorten_window(std::size_t tail) {
  // With all handed out, the last id is context enough. While something is held back (a stream of broken bytes may hold
  // back for ever), so are the last eight: UTF-8 finds its feet again within four bytes.
  constexpr std::size_t kLongWindow = 32;
  constexpr std::size_t kContext = 8;
  if (tail > 0 && window_.size() < kLongWindow) {
    return;
  }
  const std::size_t kept = tail == 0 ? 1 : kContext;
  std::vector<std::int64_t> window(window_.end() - static_cast<std::ptrdiff_t>(kept), window_.end());
  const std::size_t size = tokenizer_.decode(window).size();
  // An id without text of its own, as blanks at a start have none, is not enough to tell how the next one reads.
  if (size > tail) {
    window_ = std::move(window);
    emitted_ = size - tail;
  }
}

std::string StreamDecoder::finish() {
  std::string rest = tokenizer_.decode(window_).substr(emitted_);
  window_.clear();
  emitted_ = 0;
  return rest;
}

}  // namespace weft::text
