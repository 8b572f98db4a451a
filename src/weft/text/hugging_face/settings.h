// SPDX-License-Identifier: Apache-2.0
// What the small files beside a vocabulary say: tokenizer_config.json, special_tokens_map.json, added_tokens.json.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::text {

/// A token that is cut out of the text before the vocabulary is asked.
struct AddedToken {
  std::string content;
  bool strip_left = false;
  bool strip_right = false;
  bool single_word = false;
  bool normalized = false;
  bool special = false;
};

struct TokenizerSettings {
  std::string tokenizer_class;
  std::int64_t maximum_length = 0;
  std::optional<bool> lower_case;  ///< `do_lower_case`; absent: the files do not say
  bool split_punctuation = false;  ///< `split_by_punct`
  bool chinese_characters = true;
  std::optional<bool> strip_accents;
  std::optional<bool> prefix_space;
  bool trim_offsets = true;
  std::string source_language;            ///< `src_lang`
  std::optional<std::int64_t> extra_ids;  ///< of T5: `<extra_id_0>` and so on; absent: the files do not say
  bool clean_up = false;         ///< `clean_up_tokenization_spaces`: no blanks before punctuation in decoded text
  bool truncate_left = false;    ///< `truncation_side`
  std::optional<bool> type_ids;  ///< whether `model_input_names` has token_type_ids; absent: the files do not say
  std::array<std::optional<AddedToken>, kSpecialRoles> named;
  std::map<std::int64_t, AddedToken> added;        ///< by id
  std::vector<AddedToken> extra;                   ///< special tokens without a role
  formats::Json config = formats::Json::object();  ///< tokenizer_config.json, for the fields of one family
};

/// The text of a role's token; the role must be named.
inline const std::string& name_of(const TokenizerSettings& settings, SpecialRole role) {
  return settings.named[static_cast<std::size_t>(role)]->content;
}

/// The key of a role in those files, "mask_token" and so on.
std::string_view role_key(SpecialRole role) noexcept;

/// Reads the settings from the contents of the files, by name; files that are not there say nothing. Errors: kFormat
/// naming `where`, the file and the field.
TokenizerSettings read_tokenizer_settings(const std::map<std::string, std::string>& files, std::string_view where);

}  // namespace weft::text
