// SPDX-License-Identifier: Apache-2.0
// The tokens beside a vocabulary and the ids that they get: their own where the vocabulary has them, else the next
// ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/settings.h"
#include "weft/text/hugging_face/vocabulary.h"

namespace weft::text {

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
