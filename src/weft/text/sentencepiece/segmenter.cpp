// SPDX-License-Identifier: Apache-2.0
// The arithmetic, its widths and its ties are those of the SentencePiece library (unigram_model.cc, bpe_model.cc), so
// that the ids are. In a prepared text a character has the length that its first byte says.
#include "weft/text/sentencepiece/segmenter.h"

#include <algorithm>
#include <cfloat>
#include <queue>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"

namespace weft::text {
namespace {

std::size_t character_length(std::string_view text) {
  constexpr unsigned char kLengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return std::min<std::size_t>(kLengths[static_cast<unsigned char>(text.front()) >> 4], text.size());
}

// Steps that a model may take for a text. Pieces are short, and a step or two a byte is usual; thousands of pieces that
// are each other's beginnings would take hours.
class Work {
 public:
  explicit Work(std::size_t text) : left_((text + 4096) * 4096) {}
  void spend(std::size_t steps) {
    require(steps <= left_, "the model's long pieces overlap so often that the text takes more than 4096 steps a byte");
    left_ -= steps;
  }

 private:
  std::size_t left_;
};

}  // namespace

SentencePieceSegmenter::SentencePieceSegmenter(const SentencePieceModel& model) : model_(model) {
  std::vector<std::pair<std::string_view, std::int32_t>> user_defined;
  for (const auto& [text, id] : model.ordinary) {
    if (model.type(id) == PieceType::kUserDefined) {
      user_defined.emplace_back(text, id);
    }
  }
  user_defined_ = ByteTrie(std::move(user_defined));
  if (model.kind != SentencePieceModel::Kind::kUnigram) {
    return;
  }
  float smallest = FLT_MAX;
  largest_score_ = FLT_MIN;
  for (const Piece& piece : model.pieces) {
    if (piece.type == PieceType::kNormal) {
      smallest = std::min(smallest, piece.score);
      largest_score_ = std::max(largest_score_, piece.score);
    }
  }
  constexpr float kUnknownPenalty = 10;
  unknown_score_ = smallest - kUnknownPenalty;
  std::vector<std::pair<std::string_view, std::int32_t>> usable;
  for (const auto& [text, id] : model.ordinary) {
    if (model.type(id) != PieceType::kUnused) {
      usable.emplace_back(text, id);
    }
  }
  trie_ = ByteTrie(std::move(usable));
}

std::vector<Segment> SentencePieceSegmenter::operator()(std::string_view text) const {
  switch (model_.kind) {
    case SentencePieceModel::Kind::kBytePairs:
      return byte_pairs(text);
    case SentencePieceModel::Kind::kWords:
      return words(text);
    case SentencePieceModel::Kind::kCharacters:
      return characters(text);
    default:
      return unigram(text);
  }
}

std::size_t SentencePieceSegmenter::symbol(std::string_view text, bool& whole) const {
  const std::size_t length = user_defined_.empty() ? 0 : user_defined_.longest_prefix(text);
  whole = length > 0;
  return whole ? length : character_length(text);
}

// Viterbi's algorithm, the best way to every byte kept in place of a lattice.
std::vector<Segment> SentencePieceSegmenter::unigram(std::string_view text) const {
  struct Way {
    std::int32_t id = -1;
    float score = 0;
    std::int32_t from = -1;
  };
  std::vector<Way> ways(text.size() + 1);
  // In float32, as release 0.2 of the library adds: two ways may differ by rounding alone.
  const auto offer = [&](std::size_t to, std::size_t from, std::int32_t id, float score) {
    Way& way = ways[to];
    if (way.from < 0 || score > way.score) {
      way = {id, score, static_cast<std::int32_t>(from)};
    }
  };
  Work work(text.size());
  for (std::size_t begin = 0; begin < text.size();) {
    const float before = ways[begin].score;
    const std::size_t length = character_length(text.substr(begin));
    bool has_character = false;
    ByteTrie::Node node = ByteTrie::kRoot;
    std::size_t end = begin;
    while (end < text.size() && (node = trie_.child(node, text[end])) != ByteTrie::kNone) {
      ++end;
      const std::int32_t id = trie_.value(node);
      if (id >= 0) {
        const auto& piece = model_.pieces[static_cast<std::size_t>(id)];
        // A user-defined piece wins over whatever it could be cut into.
        const float score = piece.type == PieceType::kUserDefined
                                ? static_cast<float>(end - begin) * largest_score_ - 0.1F
                                : piece.score;
        offer(end, begin, id, score + before);
        has_character = has_character || end - begin == length;
      }
    }
    work.spend(end - begin);
    if (!has_character) {
      offer(begin + length, begin, model_.unknown, unknown_score_ + before);
    }
    begin += length;
  }
  std::vector<Segment> segments;
  for (std::size_t end = text.size(); end > 0;) {
    const auto from = static_cast<std::size_t>(ways[end].from);
    segments.push_back({text.substr(from, end - from), ways[end].id});
    end = from;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

namespace {

// One text being merged: symbols in a list, and the pairs of neighbours that make a piece, best first.
class Merger {
 public:
  Merger(const SentencePieceModel& model, std::string_view text) : model_(model), work_(text.size()) {}

  void add(std::string_view text, bool whole) {
    const auto count = static_cast<std::int32_t>(symbols_.size());
    symbols_.push_back({count - 1, count + 1, whole, text});
  }

  std::vector<Segment> run() {
    symbols_.back().next = -1;
    for (std::int32_t i = 1; i < static_cast<std::int32_t>(symbols_.size()); ++i) {
      offer(i - 1, i);
    }
    while (!agenda_.empty()) {
      const Pair pair = agenda_.top();
      agenda_.pop();
      merge(pair);
    }
    for (std::int32_t i = 0; i >= 0; i = at(i).next) {
      write(at(i).text);
    }
    return std::move(segments_);
  }

 private:
  struct Symbol {
    std::int32_t previous;
    std::int32_t next;
    bool whole;  // never merged
    std::string_view text;
  };
  struct Pair {
    std::int32_t left;
    std::int32_t right;
    float score;
    std::size_t size;
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  Symbol& at(std::int32_t index) { return symbols_[static_cast<std::size_t>(index)]; }

  void offer(std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0 || at(left).whole || at(right).whole) {
      return;
    }
    const std::string_view joined(at(left).text.data(), at(left).text.size() + at(right).text.size());
    work_.spend(1 + joined.size() / 8);
    const auto found = model_.ordinary.find(joined);
    if (found == model_.ordinary.end()) {
      return;
    }
    agenda_.push({left, right, model_.pieces[static_cast<std::size_t>(found->second)].score, joined.size()});
    if (model_.type(found->second) == PieceType::kUnused) {
      parts_[joined] = {at(left).text, at(right).text};
    }
  }

  void merge(const Pair& pair) {
    Symbol& left = at(pair.left);
    Symbol& right = at(pair.right);
    if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != pair.size) {
      return;
    }
    left.text = std::string_view(&left.text.front(), pair.size);  // the two lie side by side
    left.next = right.next;
    if (right.next >= 0) {
      at(right.next).previous = pair.left;
    }
    right.text = {};
    offer(left.previous, pair.left);
    offer(pair.left, left.next);
  }

  // A piece that is not to be used is written as the two that it was merged from.
  void write(std::string_view text) {
    std::vector<std::string_view> rest = {text};
    while (!rest.empty()) {
      const std::string_view next = rest.back();
      rest.pop_back();
      const std::int32_t id = model_.find(next);
      const auto parts = model_.type(id) == PieceType::kUnused ? parts_.find(next) : parts_.end();
      if (parts == parts_.end()) {
        segments_.push_back({next, id});
      } else {
        rest.push_back(parts->second.second);
        rest.push_back(parts->second.first);
      }
    }
  }

  const SentencePieceModel& model_;
  Work work_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> agenda_;
  std::unordered_map<std::string_view, std::pair<std::string_view, std::string_view>> parts_;
  std::vector<Segment> segments_;
};

}  // namespace

std::vector<Segment> SentencePieceSegmenter::byte_pairs(std::string_view text) const {
  if (text.empty()) {
    return {};
  }
  Merger merger(model_, text);
  while (!text.empty()) {
    bool whole = false;
    const std::size_t length = symbol(text, whole);
    merger.add(text.substr(0, length), whole);
    text.remove_prefix(length);
  }
  return merger.run();
}

std::vector<Segment> SentencePieceSegmenter::words(std::string_view text) const {
  std::vector<Segment> segments;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(kVisibleBlank, character_length(text)), text.size());
    segments.push_back({text.substr(0, end), model_.find(text.substr(0, end))});
    text.remove_prefix(end);
  }
  return segments;
}

std::vector<Segment> SentencePieceSegmenter::characters(std::string_view text) const {
  std::vector<Segment> segments;
  while (!text.empty()) {
    bool whole = false;
    const std::size_t length = symbol(text, whole);
    segments.push_back({text.substr(0, length), model_.find(text.substr(0, length))});
    text.remove_prefix(length);
  }
  return segments;
}

}  // namespace weft::text
