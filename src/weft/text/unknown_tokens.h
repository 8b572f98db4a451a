// SPDX-License-Identifier: Apache-2.0
// How much of a text a tokeniser does not know. A model that reads nothing but [UNK] gives numbers like any other, so
// somebody must say so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/text/tokenizer.h"

namespace weft::text {

/// The id that stands for what the vocabulary has no token for; nothing where every text has tokens, as with bytes.
std::optional<std::int64_t> unknown_id(const Tokenizer& tokenizer);

/// Counts tokens, and warns once when half of them or more are unknown.
class UnknownTokens {
 public:
  /// `where` names the tokeniser in the warning: "'directory'".
  UnknownTokens(const Tokenizer& tokenizer, std::string where);

  /// Counts `ids`. `special_mask`, when it is not empty, has a 1 for each id that is not from the text.
  void add(std::span<const std::int64_t> ids, std::span<const std::int64_t> special_mask = {});
  /// Warns on stderr, once in this object's life, when at least half of what was counted is unknown; the warning has
  /// the share. `what` names the tokens: "of the training text".
  void warn(const std::string& what);

  std::int64_t tokens() const noexcept { return tokens_; }
  std::int64_t unknown() const noexcept { return unknown_; }

 private:
  std::optional<std::int64_t> id_;
  std::string token_;
  std::string where_;
  std::int64_t tokens_ = 0;
  std::int64_t unknown_ = 0;
  bool warned_ = false;
};

/// The same for one text, of which a megabyte is looked at.
void warn_of_unknown_text(const Tokenizer& tokenizer, std::string_view text, const std::string& where);

/// Warns on stderr when a model has more than twice as many rows as its tokeniser has ids: the files of another model,
/// most likely. `where` names the directory.
void warn_of_small_vocabulary(const Tokenizer& tokenizer, std::int64_t rows, const std::string& where);

}  // namespace weft::text
