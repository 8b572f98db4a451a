// SPDX-License-Identifier: Apache-2.0
// Pairs of three kinds: pieces with tables (Marian, Pegasus), a Hugging Face tokeniser for both sides, and any other
// with special tokens that the caller names.
#include "weft/text/pair/pair_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/text/hugging_face.h"
#include "weft/text/pair/piece_files.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::string_view kNewline = "<n>";  // as Pegasus writes it

std::string stripped(std::string_view text) { return std::string(strip_right(strip_left(text))); }

class PiecePair final : public PairTokenizer {
 public:
  explicit PiecePair(PieceSides sides) : PairTokenizer(sides.shared), sides_(std::move(sides)) {}

  Ids encode(std::string_view text, Side side) const override {
    Ids ids = of(side).encode(text);
    ids.push_back(sides_.end);
    return ids;
  }
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
  std::string language(Side side) const override {
    return side == Side::kSource ? sides_.source_language : sides_.target_language;
  }
  std::int64_t maximum_length() const override { return sides_.maximum_length; }

 private:
  const PieceTokenizer& of(Side side) const { return side == Side::kSource ? *sides_.source : *sides_.target; }

  PieceSides sides_;
};

class HuggingFacePair final : public PairTokenizer {
 public:
  explicit HuggingFacePair(std::shared_ptr<const HuggingFaceTokenizer> tokenizer,
                           std::optional<std::int64_t> end = std::nullopt)
      : PairTokenizer(true), tokenizer_(std::move(tokenizer)), end_(end) {}

  Ids encode(std::string_view text, Side /*side*/) const override {
    if (!end_) {
      return std::move(tokenizer_->encode_windows(text).front().ids);
    }
    Ids ids = tokenizer_->encode(text);
    ids.push_back(*end_);
    return ids;
  }
  std::string display(const Ids& ids, Side /*side*/) const override { return stripped(tokenizer_->display(ids, true)); }
  const Tokenizer& side(Side /*side*/) const override { return *tokenizer_; }
  std::string token(std::int64_t id, Side /*side*/) const override { return tokenizer_->token(id); }
  std::optional<std::int64_t> find(std::string_view token, Side /*side*/) const override {
    return tokenizer_->find(token);
  }
  std::int64_t maximum_length() const override { return tokenizer_->maximum_length(); }

 private:
  std::shared_ptr<const HuggingFaceTokenizer> tokenizer_;
  std::optional<std::int64_t> end_;  // alone around a text; none: the frame of the tokeniser's files
};

class FramedPair final : public PairTokenizer {
 public:
  FramedPair(std::shared_ptr<const Tokenizer> tokenizer, Ids before, Ids behind)
      : PairTokenizer(true), tokenizer_(std::move(tokenizer)), before_(std::move(before)), behind_(std::move(behind)) {}

  Ids encode(std::string_view text, Side /*side*/) const override {
    Ids ids = before_;
    const Ids inner = tokenizer_->encode(text);
    ids.insert(ids.end(), inner.begin(), inner.end());
    ids.insert(ids.end(), behind_.begin(), behind_.end());
    return ids;
  }
  std::string display(const Ids& ids, Side /*side*/) const override {
    const auto frames = [&](std::int64_t id) {
      return std::find(before_.begin(), before_.end(), id) != before_.end() ||
             std::find(behind_.begin(), behind_.end(), id) != behind_.end();
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
  Ids before_;
  Ids behind_;
};

}  // namespace

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

std::unique_ptr<PairTokenizer> load_pair_tokenizer(const std::filesystem::path& directory) {
  if (is_marian(directory)) {
    return std::make_unique<PiecePair>(read_marian(directory));
  }
  if (is_pegasus(directory)) {
    return std::make_unique<PiecePair>(read_pegasus(directory));
  }
  return std::make_unique<HuggingFacePair>(std::make_shared<const HuggingFaceTokenizer>(directory));
}

bool has_piece_tokenizer(const std::filesystem::path& directory) {
  return is_marian(directory) || is_pegasus(directory);
}

bool has_pair_tokenizer(const std::filesystem::path& directory) {
  return is_marian(directory) || HuggingFaceTokenizer::present_in(directory);
}

std::unique_ptr<PairTokenizer> make_pair_tokenizer(std::shared_ptr<const HuggingFaceTokenizer> tokenizer,
                                                   std::int64_t end) {
  return std::make_unique<HuggingFacePair>(std::move(tokenizer), end);
}

std::unique_ptr<PairTokenizer> make_pair_tokenizer(std::shared_ptr<const Tokenizer> tokenizer, Ids before, Ids behind) {
  return std::make_unique<FramedPair>(std::move(tokenizer), std::move(before), std::move(behind));
}

}  // namespace weft::text
