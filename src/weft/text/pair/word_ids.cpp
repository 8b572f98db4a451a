// SPDX-License-Identifier: Apache-2.0
// Tokenisers do not all say where a token lies in the text. Words are therefore read one by one, and the ids compared
// with those of the whole.
#include "weft/text/pair/word_ids.h"

#include <algorithm>
#include <functional>

#include "weft/core/error.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;
using EncodeUnframed = std::function<Ids(std::string_view)>;

/// Ids without special tokens, with the word of each.
struct Inner {
  Ids ids;
  Ids word;

  void append(const Ids& more, std::int64_t number) {
    ids.insert(ids.end(), more.begin(), more.end());
    word.resize(ids.size(), number);
  }
};

/// Each word by itself, `with_blanks` together with the white space before it.
Inner word_by_word(const EncodeUnframed& encode, std::string_view text, std::string_view before,
                   const std::vector<std::string_view>& words, bool with_blanks) {
  Inner inner;
  if (!before.empty()) {
    inner.append(encode(before), -1);
  }
  const char* begin = text.data();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char* end = words[i].data() + words[i].size();
    const char* from = with_blanks ? begin : words[i].data();
    inner.append(encode(std::string_view(from, static_cast<std::size_t>(end - from))), static_cast<std::int64_t>(i));
    begin = end;
  }
  if (with_blanks) {
    inner.append(encode(text.substr(static_cast<std::size_t>(begin - text.data()))), -1);
  }
  return inner;
}

// `whole` is `before` and the text with special tokens around them.
WordIds read_with(const EncodeUnframed& encode, const Ids& whole, std::string_view text, std::string_view before) {
  const Ids without_special = encode(std::string(before) + std::string(text));
  const auto frame = std::search(whole.begin(), whole.end(), without_special.begin(), without_special.end());
  require(frame != whole.end() || without_special.empty(),
          "the tokeniser gives other ids with special tokens than without");
  const std::vector<std::string_view> words = words_between_blanks(text);
  Inner inner = word_by_word(encode, text, before, words, true);
  bool same = inner.ids == without_special;
  if (!same) {
    Inner bare = word_by_word(encode, text, before, words, false);
    if (bare.ids == without_special) {
      same = true;
      inner = std::move(bare);
    }
  }
  WordIds read;
  read.one_by_one = !same;
  read.words.assign(words.begin(), words.end());
  read.ids.assign(whole.begin(), frame);
  read.word.assign(read.ids.size(), -1);
  read.ids.insert(read.ids.end(), inner.ids.begin(), inner.ids.end());
  read.word.insert(read.word.end(), inner.word.begin(), inner.word.end());
  read.ids.insert(read.ids.end(), frame + static_cast<std::ptrdiff_t>(without_special.size()), whole.end());
  read.word.resize(read.ids.size(), -1);
  return read;
}

}  // namespace

std::vector<std::string_view> words_between_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

WordIds read_words(const PairTokenizer& tokenizer, std::string_view text, Side side, std::string_view before) {
  const auto encode = [&](std::string_view part) { return tokenizer.encode_unframed(part, side); };
  return read_with(encode, tokenizer.encode(std::string(before) + std::string(text), side), text, before);
}

WordIds read_plain_words(const PairTokenizer& tokenizer, std::string_view text, Side side) {
  const auto encode = [&](std::string_view part) { return tokenizer.encode_plain(part, side); };
  return read_with(encode, tokenizer.frame().around(encode(text)), text, {});
}

}  // namespace weft::text
