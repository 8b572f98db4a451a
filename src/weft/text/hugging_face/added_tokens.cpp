// SPDX-License-Identifier: Apache-2.0
// transformers' TokenizersBackend.__init__, the part that adds tokens.
#include "weft/text/hugging_face/added_tokens.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::text {
namespace {

// In the order in which they get ids; the last of two with the same content says its flags.
std::vector<AddedToken> in_order(const TokenizerSettings& settings) {
  std::vector<AddedToken> order;
  std::unordered_map<std::string, std::size_t> places;
  std::unordered_set<std::string> named;
  for (const auto& token : settings.named) {
    named.insert(token ? token->content : std::string());
  }
  // The crate keeps the first place of a token that is added twice, and the flags of the last.
  const auto add = [&](AddedToken token) {
    token.special = token.special || named.contains(token.content);
    const auto [place, fresh] = places.emplace(token.content, order.size());
    if (fresh) {
      order.push_back(std::move(token));
    } else {
      order[place->second] = std::move(token);
    }
  };
  // A token that added_tokens_decoder has keeps the flags it has there.
  std::unordered_set<std::string> settled;
  for (const auto& [id, token] : settings.added) {
    add(token);
    settled.insert(token.content);
  }
  for (const auto& token : settings.named) {
    if (token && !settled.contains(token->content)) {
      add(*token);
    }
  }
  for (const AddedToken& token : settings.extra) {
    if (!settled.contains(token.content)) {
      add(token);
    }
  }
  return order;
}

}  // namespace

AddedTokens::AddedTokens(const TokenizerSettings& settings, const TokenIds& vocabulary, std::string_view where) {
  // New tokens get the ids behind the vocabulary, in the order in which they are added.
  auto next = static_cast<std::int64_t>(vocabulary.size());
  std::vector<std::pair<std::int64_t, AddedToken>> tokens;
  for (AddedToken& token : in_order(settings)) {
    const auto known = vocabulary.find(token.content);
    const std::int64_t id = known != vocabulary.end() ? known->second : next++;
    ids_.emplace(token.content, id);
    tokens.emplace_back(id, std::move(token));
  }
  // transformers would give it another id without a word, and the model another embedding.
  for (const auto& [id, token] : settings.added) {
    if (ids_.at(token.content) != id) {
      fail(ErrorKind::kFormat, where, ": the token ", quote(token.content), " is to have the id ", id,
           ", but beside this vocabulary it has ", ids_.at(token.content));
    }
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& left, const auto& right) { return left.first < right.first; });
  for (const auto& [id, token] : tokens) {
    json_.push_back({{"id", id},
                     {"content", token.content},
                     {"single_word", token.single_word},
                     {"lstrip", token.strip_left},
                     {"rstrip", token.strip_right},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
}

}  // namespace weft::text
