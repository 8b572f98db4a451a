// SPDX-License-Identifier: Apache-2.0
// The tables of a store. All that is known of a text is in one file: what it is called, its passages, the index of
// their words (FTS5, which reads the passages where they are) and their vectors twice, as codes of 8 bits for the scan
// and as float32 for the last word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/store/file/database.h"

namespace weft::store {

/// What PRAGMA application_id and user_version of a store are: "Weft", and the form of its tables.
inline constexpr std::int64_t kApplicationId = 0x57656674;
inline constexpr std::int64_t kStoreVersion = 1;

/// What makes words of a text, in FTS5's words: as they are, or their English stems.
inline constexpr std::string_view kPlainWords = "unicode61 remove_diacritics 2";
inline constexpr std::string_view kEnglishWords = "porter unicode61 remove_diacritics 2";

/// Makes the tables of a new store in one transaction, with an index of words that `tokenizer` makes of a text. From
/// then on the file has a write-ahead log. Where another process has made the tables meanwhile they stay. Errors: as
/// Database.
void create_schema(Database& database, std::string_view tokenizer);

/// Whether the database has no table yet.
bool is_empty(Database& database);

/// Throws unless the database is a store whose tables are those of this version, with the index of `tokenizer`s words:
/// kFormat for a database of another program and for tables that a store does not have, kUnsupported for a store of a
/// later version. Returns the tokenizer.
std::string check_schema(Database& database);

}  // namespace weft::store
