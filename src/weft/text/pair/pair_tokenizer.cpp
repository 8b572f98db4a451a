// SPDX-License-Identifier: Apache-2.0
// Pairs of three kinds: pieces with tables (Marian, Pegasus), a Hugging Face tokeniser for both sides, and any other
// with special tokens that the caller names.
#include "weft/text/pair/pair_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face.h"
#include "weft/text/pair/languages.h"
#include "weft/text/pair/piece_files.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::string_view kNewline = "<n>";  // as Pegasus writes it

std::string stripped(std::string_view text) { return std::string(strip_right(strip_left(text))); }

class PiecePair final : public PairTokenizer {
 public:
  explicit PiecePair(PieceSides sides)
      : PairTokenizer(sides.shared), sides_(std::move(sides)), frame_({.behind = {sides_.end}}) {}

  Ids encode(std::string_view text, Side side) const override { return frame_.around(of(side).encode(text)); }
  Ids encode_unframed(std::string_view text, Side side) const override { return of(side).encode(text); }
  Ids encode_plain(std::string_view text, Side side) const override {
    return of(side).encode_plain(text, side == Side::kSource);
  }
  const Frame& frame() const override { return frame_; }
  std::string display(const Ids& ids, Side side) const override { return of(side).display(ids); }
  const Tokenizer& side(Side side) const override { return of(side); }
  std::string token(std::int64_t id, Side side) const override { return of(side).token(id); }
  std::optional<std::int64_t> find(std::string_view token, Side side) const override {
    const PieceTokenizer& tokenizer = of(side);
    const std::int64_t id = tokenizer.id(token);
    const bool known = id != tokenizer.unknown() || tokenizer.token(id) == token;
    return known ? std::optional(id) : std::nullopt;
  }
  std::vector<std::string> language_codes() const override { return sides_.language_codes; }
  bool reads_language_codes() const override { return sides_.source->reads_language_codes(); }
  std::string language(Side side) const override {
    return side == Side::kSource ? sides_.source_language : sides_.target_language;
  }
  std::int64_t maximum_length() const override { return sides_.settings.maximum_length; }
  const TokenizerSettings& settings() const { return sides_.settings; }

 private:
  const PieceTokenizer& of(Side side) const { return side == Side::kSource ? *sides_.source : *sides_.target; }

  PieceSides sides_;
  Frame frame_;
};

// The frame that the tokeniser's files name, as it stands around a letter.
Frame frame_of(const HuggingFaceTokenizer& tokenizer) {
  const Encoding letter = tokenizer.encode_windows("a").front();
  Frame frame;
  bool behind = false;
  for (std::size_t i = 0; i < letter.ids.size(); ++i) {
    const bool special = letter.special_mask[i] != 0;
    behind = behind || !special;
    if (special) {
      (behind ? frame.behind : frame.before).push_back(letter.ids[i]);
    }
  }
  return frame;
}

class HuggingFacePair final : public PairTokenizer {
 public:
  /// Without a frame: that of the files, and texts as the files read them.
  HuggingFacePair(std::shared_ptr<const HuggingFaceTokenizer> tokenizer, std::optional<Frame> frame)
      : PairTokenizer(true),
        tokenizer_(std::move(tokenizer)),
        plain_(frame.has_value()),
        frame_(plain_ ? std::move(*frame) : frame_of(*tokenizer_)) {}

  Ids encode(std::string_view text, Side side) const override {
    return plain_ ? frame_.around(encode_plain(text, side)) : std::move(tokenizer_->encode_windows(text).front().ids);
  }
  Ids encode_unframed(std::string_view text, Side side) const override {
    return plain_ ? encode_plain(text, side) : tokenizer_->encode(text);
  }
  // A text is cut behind the first letter of each special token that is written in it, so that no part has one.
  Ids encode_plain(std::string_view text, Side side) const override {
    Ids ids = tokenizer_->encode(text);
    const std::set<std::size_t> cuts = places_to_cut(text, ids);
    if (cuts.empty()) {
      return ids;
    }
    ids.clear();
    std::size_t begin = 0;
    const auto encode_until = [&](std::size_t end) {
      const Ids part = encode_plain(text.substr(begin, end - begin), side);
      ids.insert(ids.end(), part.begin(), part.end());
      begin = end;
    };
    std::for_each(cuts.begin(), cuts.end(), encode_until);
    encode_until(text.size());
    return ids;
  }
  const Frame& frame() const override { return frame_; }
  std::string display(const Ids& ids, Side /*side*/) const override { return stripped(tokenizer_->display(ids, true)); }
  const Tokenizer& side(Side /*side*/) const override { return *tokenizer_; }
  std::string token(std::int64_t id, Side /*side*/) const override { return tokenizer_->token(id); }
  std::optional<std::int64_t> find(std::string_view token, Side /*side*/) const override {
    return tokenizer_->find(token);
  }
  std::int64_t maximum_length() const override { return tokenizer_->maximum_length(); }

 private:
  // Behind the first letter of each special token of `ids` that is written in `text`. The unknown token is not, as a
  // rule, and one of a single letter cannot be cut.
  std::set<std::size_t> places_to_cut(std::string_view text, const Ids& ids) const {
    std::set<std::size_t> places;
    for (const std::int64_t id : std::set<std::int64_t>(ids.begin(), ids.end())) {
      if (!tokenizer_->is_added(id) || !tokenizer_->decode({id}, true).empty()) {
        continue;
      }
      const std::string name = tokenizer_->token(id);
      const std::size_t letter = utf8_sequence_length(name);
      if (letter == 0 || letter >= name.size()) {
        continue;
      }
      for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + letter)) {
        places.insert(at + letter);
      }
    }
    return places;
  }

  std::shared_ptr<const HuggingFaceTokenizer> tokenizer_;
  bool plain_;
  Frame frame_;
};

class FramedPair final : public PairTokenizer {
 public:
  FramedPair(std::shared_ptr<const Tokenizer> tokenizer, Frame frame)
      : PairTokenizer(true), tokenizer_(std::move(tokenizer)), frame_(std::move(frame)) {}

  Ids encode(std::string_view text, Side side) const override { return frame_.around(encode_plain(text, side)); }
  Ids encode_unframed(std::string_view text, Side /*side*/) const override { return tokenizer_->encode(text); }
  Ids encode_plain(std::string_view text, Side side) const override { return encode_unframed(text, side); }
  const Frame& frame() const override { return frame_; }
  std::string display(const Ids& ids, Side /*side*/) const override {
    const auto frames = [&](std::int64_t id) {
      return std::find(frame_.before.begin(), frame_.before.end(), id) != frame_.before.end() ||
             std::find(frame_.behind.begin(), frame_.behind.end(), id) != frame_.behind.end();
    };
    Ids inner;
    std::remove_copy_if(ids.begin(), ids.end(), std::back_inserter(inner), frames);
    return stripped(tokenizer_->decode(inner));
  }
  const Tokenizer& side(Side /*side*/) const override { return *tokenizer_; }
  std::string token(std::int64_t id, Side /*side*/) const override { return tokenizer_->decode({id}); }
  std::optional<std::int64_t> find(std::string_view token, Side /*side*/) const override {
    const Ids ids = tokenizer_->encode(token);
    return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  Frame frame_;
};

}  // namespace

std::vector<std::int64_t> Frame::around(const Ids& ids) const {
  Ids all = before;
  all.insert(all.end(), ids.begin(), ids.end());
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

std::string PairTokenizer::decode(const Ids& ids, Side side) const {
  std::string shown = display(ids, side);
  if (!find(kNewline, side)) {
    return shown;
  }
  // A newline takes the place of the blanks beside it.
  std::string result;
  std::string_view text = shown;
  for (std::size_t at = text.find(kNewline); at != std::string_view::npos; at = text.find(kNewline)) {
    result += strip_right(text.substr(0, at));
    result += '\n';
    text = strip_left(text.substr(at + kNewline.size()));
  }
  return stripped(result += text);
}

void PairTokenizer::check_rows(const Ids& ids, Side side, std::int64_t rows, const std::string& where) const {
  const auto beyond = std::find_if(ids.begin(), ids.end(), [&](std::int64_t id) { return id >= rows; });
  if (beyond != ids.end()) {
    fail(ErrorKind::kFormat, where, ": the tokeniser gives ", quote(token(*beyond, side)), " the id ", *beyond,
         ", but the model has ", rows, " rows of embeddings: these are the files of two models");
  }
}

std::unique_ptr<PairTokenizer> load_pair_tokenizer(const std::filesystem::path& directory) {
  if (is_m2m_100(directory)) {
    auto pair = std::make_unique<PiecePair>(read_m2m_100(directory));
    const TokenizerSettings& settings = pair->settings();
    return with_languages(std::move(pair), settings, directory);
  }
  if (is_marian(directory)) {
    return std::make_unique<PiecePair>(read_marian(directory));
  }
  if (is_pegasus(directory)) {
    return std::make_unique<PiecePair>(read_pegasus(directory));
  }
  const auto tokenizer = std::make_shared<const HuggingFaceTokenizer>(directory);
  return with_languages(std::make_unique<HuggingFacePair>(tokenizer, std::nullopt), tokenizer->settings(), directory);
}

bool has_piece_tokenizer(const std::filesystem::path& directory) {
  return is_marian(directory) || is_pegasus(directory) || is_m2m_100(directory);
}

std::unique_ptr<PairTokenizer> make_pair_tokenizer(std::shared_ptr<const Tokenizer> tokenizer, Frame frame) {
  if (auto known = std::dynamic_pointer_cast<const HuggingFaceTokenizer>(tokenizer)) {
    return std::make_unique<HuggingFacePair>(std::move(known), std::move(frame));
  }
  return std::make_unique<FramedPair>(std::move(tokenizer), std::move(frame));
}

}  // namespace weft::text
