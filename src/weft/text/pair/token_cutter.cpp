// SPDX-License-Identifier: Apache-2.0
// The cuts are those of transformers' Trie, the flags those of PythonBackend.tokenize: from left to right, each looking
// at neighbours that earlier ones have changed.
#include "weft/text/pair/token_cutter.h"

#include <utility>

#include "weft/text/utf8.h"

namespace weft::text {
namespace {

ByteTrie trie_of(const std::vector<NumberedToken>& tokens) {
  std::vector<std::pair<std::string_view, std::int32_t>> keys;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].token.content.empty()) {
      keys.emplace_back(tokens[i].token.content, static_cast<std::int32_t>(i));
    }
  }
  return ByteTrie(std::move(keys));
}

// A part with the flags of its token, which text has not.
struct CutPart {
  std::string text;
  const NumberedToken* token = nullptr;
};

void apply_flags(std::vector<CutPart>& pieces, std::size_t i) {
  const AddedToken& flags = pieces[i].token->token;
  CutPart* left = i > 0 ? &pieces[i - 1] : nullptr;
  CutPart* right = i + 1 < pieces.size() ? &pieces[i + 1] : nullptr;
  if (flags.strip_right && right != nullptr) {
    right->text = strip_left(right->text);
  }
  if (flags.strip_left && left != nullptr) {
    left->text = strip_right(left->text);
  }
  if (!flags.single_word) {
    return;
  }
  if (left != nullptr && !left->text.empty() && left->text.back() != ' ') {
    left->text += pieces[i].text;
    left->token = nullptr;
    pieces[i].text.clear();
  } else if (right != nullptr && !right->text.empty() && right->text.front() != ' ') {
    right->text.insert(0, pieces[i].text);
    right->token = nullptr;
    pieces[i].text.clear();
  }
}

}  // namespace

TokenCutter::TokenCutter(std::vector<NumberedToken> tokens) : tokens_(std::move(tokens)), trie_(trie_of(tokens_)) {}

TokenCutter::Match TokenCutter::longest(std::string_view text) const {
  Match best;
  ByteTrie::Node node = ByteTrie::kRoot;
  for (std::size_t end = 0; end < text.size(); ++end) {
    node = trie_.child(node, text[end]);
    if (node == ByteTrie::kNone) {
      break;
    }
    if (trie_.value(node) >= 0) {
      best = {end + 1, trie_.value(node)};
    }
  }
  return best;
}

std::vector<TextPart> TokenCutter::operator()(std::string_view text) const {
  std::vector<CutPart> pieces;
  std::size_t begin = 0;  // of the stretch of text
  const auto end_stretch = [&](std::size_t end) {
    if (end > begin) {
      pieces.push_back({std::string(text.substr(begin, end - begin)), nullptr});
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const Match match = longest(text.substr(at));
    if (match.length == 0) {
      ++at;
      continue;
    }
    end_stretch(at);
    pieces.push_back({std::string(text.substr(at, match.length)), &tokens_[static_cast<std::size_t>(match.token)]});
    begin = at += match.length;
  }
  end_stretch(text.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].token != nullptr) {
      apply_flags(pieces, i);
    }
  }
  std::vector<TextPart> parts;
  for (CutPart& piece : pieces) {
    if (!piece.text.empty()) {
      parts.push_back({std::move(piece.text), piece.token == nullptr ? -1 : piece.token->id});
    }
  }
  return parts;
}

}  // namespace weft::text
