// SPDX-License-Identifier: Apache-2.0
// The statements that make the tables are kept by SQLite as they were written, so that a store is known by them.
#include "weft/store/file/schema.h"

#include <array>
#include <map>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::store {
namespace {

struct Table {
  std::string_view name;
  std::string_view sql;
};

constexpr std::array<Table, 6> kTables = {{
    {"settings", "CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"},
    {"texts",
     "CREATE TABLE texts(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, source TEXT NOT "
     "NULL, run INTEGER NOT NULL)"},
    {"passages",
     "CREATE TABLE passages(number INTEGER PRIMARY KEY AUTOINCREMENT, text_number INTEGER NOT NULL, begin INTEGER NOT "
     "NULL, title TEXT NOT NULL, text TEXT NOT NULL)"},
    {"passages_of_text", "CREATE INDEX passages_of_text ON passages(text_number)"},
    {"codes",
     "CREATE TABLE codes(number INTEGER PRIMARY KEY, scale REAL NOT NULL, error REAL NOT NULL, codes BLOB NOT NULL)"},
    {"vectors", "CREATE TABLE vectors(number INTEGER PRIMARY KEY, numbers BLOB NOT NULL)"},
}};

// Tables that FTS5 makes for its index, and what SQLite makes for UNIQUE and for numbers that never come twice.
constexpr std::array<std::string_view, 6> kInnerTables = {
    "words_data", "words_idx", "words_docsize", "words_config", "sqlite_autoindex_texts_1", "sqlite_sequence"};
constexpr std::string_view kWordsBegin =
    "CREATE VIRTUAL TABLE words USING fts5(title, text, content='passages', content_rowid='number', tokenize='";
constexpr std::string_view kWordsEnd = "')";

std::string words_table(std::string_view tokenizer) { return concat(kWordsBegin, tokenizer, kWordsEnd); }

// The tokenizer in the statement that made the index; empty for any other statement.
std::string tokenizer_of(std::string_view sql) {
  for (const std::string_view tokenizer : {kPlainWords, kEnglishWords}) {
    if (sql == words_table(tokenizer)) {
      return std::string(tokenizer);
    }
  }
  return {};
}

bool is_inner(std::string_view name) {
  for (const std::string_view inner : kInnerTables) {
    if (name == inner) {
      return true;
    }
  }
  return false;
}

// Every object by its name, with the statement that made it; SQLite's own index has none.
std::map<std::string, std::string> objects(Database& database) {
  constexpr std::size_t kMostObjects = 64;
  std::map<std::string, std::string> found;
  Statement rows = database.prepare(
      "SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE type IN ('table', 'index', 'view', 'trigger')");
  while (rows.step()) {
    found.emplace(rows.text(0), rows.text(1));
    if (found.size() > kMostObjects) {
      database.damaged("it has more tables than a store");
    }
  }
  return found;
}

void check_version(Database& database) {
  if (database.number("PRAGMA application_id") != kApplicationId) {
    fail(ErrorKind::kFormat, database.name(), ": is no store of weft index: it is ",
         is_empty(database) ? "empty" : "a database of another program");
  }
  const std::int64_t version = database.number("PRAGMA user_version");
  if (version > kStoreVersion) {
    throw Error(ErrorKind::kUnsupported,
                concat(database.name(), ": a later version of Weft wrote this store: its form is ", version,
                       ", and this program reads ", kStoreVersion),
                "use that version, or make a new store with weft index");
  }
  if (version != kStoreVersion) {
    database.damaged(concat("its form is ", version, ", and stores begin with ", kStoreVersion));
  }
}

}  // namespace

void create_schema(Database& database, std::string_view tokenizer) {
  // The log is a property of the file, and cannot be chosen within a transaction.
  database.run("PRAGMA journal_mode = WAL");
  Transaction transaction(database);
  if (!is_empty(database)) {
    return;  // another process was faster
  }
  for (const Table& table : kTables) {
    database.run(std::string(table.sql));
  }
  database.run(words_table(tokenizer));
  database.run(concat("PRAGMA application_id = ", kApplicationId, "; PRAGMA user_version = ", kStoreVersion));
  transaction.commit();
}

bool is_empty(Database& database) { return database.number("SELECT count(*) FROM sqlite_schema") == 0; }

std::string check_schema(Database& database) {
  check_version(database);
  if (Statement encoding = database.prepare("PRAGMA encoding"); !encoding.step() || encoding.text(0) != "UTF-8") {
    database.damaged("its texts are not UTF-8");
  }
  std::map<std::string, std::string> found = objects(database);
  for (const Table& table : kTables) {
    const auto here = found.find(std::string(table.name));
    if (here == found.end() || here->second != table.sql) {
      database.damaged(concat("its table ", table.name, " is not that of a store"));
    }
    found.erase(here);
  }
  const auto words = found.find("words");
  const std::string tokenizer = words == found.end() ? std::string() : tokenizer_of(words->second);
  if (tokenizer.empty()) {
    database.damaged("its index of words is not that of a store");
  }
  found.erase(words);
  for (const auto& [name, sql] : found) {
    if (!is_inner(name) || sql.starts_with("CREATE VIRTUAL")) {
      database.damaged(concat("it has an object ", quote(name), " that no store has"));
    }
  }
  return tokenizer;
}

}  // namespace weft::store
