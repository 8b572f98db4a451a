// SPDX-License-Identifier: Apache-2.0
// Vocabularies of the older files as text for a tokenizer.json, written and read without a document in between (fifty
// thousand tokens are to load in a moment), and the tokens that are added to them with the ids that they get: those of
// the vocabulary where it has them, else the next ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/settings.h"

namespace weft::text {

using TokenIds = std::unordered_map<std::string, std::int64_t>;

/// `text` as a JSON string, quotes and all. Text that is not UTF-8 is a kFormat error naming `where`.
std::string json_string(std::string_view text, std::string_view where);

/// The ids of vocab.json, an object of tokens and integers. Errors: kFormat naming `where` and the token.
TokenIds read_vocabulary_json(std::string_view json, std::string_view where);

/// The ids of vocab.txt: the number of the line, without the white space at its end; the last of equal lines counts.
TokenIds read_vocabulary_lines(std::string_view text);

/// merges.txt as the list of pairs that a tokenizer.json has. Errors: kFormat naming `where` and the line.
std::string merges_as_json(std::string_view text, std::string_view where);

class AddedTokens {
 public:
  /// Orders the tokens as `transformers` does: by id those of `settings.added`, then those with a role, then the
  /// others. Errors: kFormat when an id of `settings.added` is not the one
  /// that its token gets.
  AddedTokens(const TokenizerSettings& settings, const TokenIds& vocabulary, std::string_view where);

  /// The list `added_tokens` of a tokenizer.json.
  const formats::Json& json() const noexcept { return json_; }
  /// The id of one of them.
  std::int64_t id(const std::string& content) const { return ids_.at(content); }

 private:
  formats::Json json_ = formats::Json::array();
  TokenIds ids_;
};

}  // namespace weft::text
