// SPDX-License-Identifier: Apache-2.0
// Repair of what is not UTF-8, and places in code points turned into places in bytes.
#include "weft/text/hugging_face/texts.h"

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

// As many code points as utf8.h counts.
std::string repaired(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    result += text.substr(0, valid);
    text.remove_prefix(valid);
    if (!text.empty()) {
      result += "\uFFFD";
      text.remove_prefix(1);
    }
  }
  return result;
}

// Where every code point of a text begins, and its end.
std::vector<std::int64_t> code_point_starts(std::string_view text) {
  std::vector<std::int64_t> starts;
  starts.reserve(text.size() + 1);
  std::size_t position = 0;
  while (position < text.size()) {
    starts.push_back(static_cast<std::int64_t>(position));
    position += std::max<std::size_t>(1, utf8_sequence_length(text.substr(position)));
  }
  starts.push_back(static_cast<std::int64_t>(text.size()));
  return starts;
}

// `text` with every `found`, from left to right, replaced.
std::string replaced(std::string_view text, std::string_view found, std::string_view instead) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = text.find(found); at != std::string_view::npos; at = text.find(found)) {
    result += text.substr(0, at);
    result += instead;
    text.remove_prefix(at + found.size());
  }
  return result += text;
}

}  // namespace

// The replacements of transformers' clean_up_tokenization, one after the other as there.
std::string cleaned_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [found, instead] : kReplacements) {
    text = replaced(text, found, instead);
  }
  return text;
}

std::string valid_text(std::string_view text) {
  require(text.size() < std::numeric_limits<std::int32_t>::max(), "a text must have less than 2 GiB, found ",
          text.size(), " bytes");
  return is_valid_utf8(text) ? std::string() : repaired(text);
}

RequestTexts::RequestTexts(std::string_view first, const std::string_view* second) : pair_(second != nullptr) {
  const std::string_view given[] = {first, pair_ ? *second : std::string_view()};
  for (std::size_t i = 0; i < 2; ++i) {
    repaired_[i] = valid_text(given[i]);
    texts_[i] = repaired_[i].empty() ? given[i] : std::string_view(repaired_[i]);
    starts_[i] = code_point_starts(given[i]);
  }
}

WeftRequest RequestTexts::request(const EncodeOptions& options, bool left) const {
  // A second text may be empty, but null would mean that there is none.
  static constexpr std::uint8_t kEmpty = 0;
  const std::uint8_t* second = texts_[1].empty() ? &kEmpty : bytes_of(texts_[1]);
  return {.first = bytes_of(texts_[0]),
          .first_length = texts_[0].size(),
          .second = pair_ ? second : nullptr,
          .second_length = texts_[1].size(),
          .max_length = static_cast<std::size_t>(options.max_length),
          .stride = static_cast<std::size_t>(options.stride),
          .strategy = static_cast<std::uint8_t>(options.truncation),
          .special = options.special_tokens,
          .left = left,
          .ids_only = false};
}

Encoding RequestTexts::window(const WeftWindow& window) const {
  Encoding encoding;
  encoding.ids.assign(window.ids, window.ids + window.length);
  encoding.type_ids.assign(window.types, window.types + window.length);
  encoding.special_mask.assign(window.special, window.special + window.length);
  encoding.words.assign(window.words, window.words + window.length);
  encoding.sequences.assign(window.sequences, window.sequences + window.length);
  encoding.offsets.reserve(window.length);
  encoding.byte_offsets.reserve(window.length);
  for (std::size_t i = 0; i < window.length; ++i) {
    const Span span{window.starts[i], window.ends[i]};
    encoding.offsets.push_back(span);
    // Special tokens have no place; their offsets are 0 to 0, as in transformers.
    const std::vector<std::int64_t>& places = starts_[window.sequences[i] == 1 ? 1 : 0];
    const auto place = [&](std::int64_t point) {
      return places[std::min<std::size_t>(static_cast<std::size_t>(point), places.size() - 1)];
    };
    encoding.byte_offsets.push_back(window.sequences[i] < 0 ? Span{} : Span{place(span.begin), place(span.end)});
  }
  return encoding;
}

}  // namespace weft::text
