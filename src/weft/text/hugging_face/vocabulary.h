// SPDX-License-Identifier: Apache-2.0
// Vocabularies of the older files as text for a tokenizer.json, written and read without a document in between: fifty
// thousand tokens are to load in a moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

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

}  // namespace weft::text
