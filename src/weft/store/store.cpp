// SPDX-License-Identifier: Apache-2.0
// Settings are rows of names and values, checked when they are read.
#include "weft/store/store.h"

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/store/file/schema.h"

namespace weft::store {
namespace {

// SQLite has one message for all of these.
std::filesystem::path existing(const std::filesystem::path& file, Access access) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    fail(ErrorKind::kIo, quote(file.native(), 4096), ": it is a directory, expected the file of a store");
  }
  if (access != Access::kCreate && !std::filesystem::exists(file)) {
    throw Error(ErrorKind::kIo, concat(quote(file.native(), 4096), ": there is no such store"),
                "weft index STORE FILES makes one");
  }
  if (file.has_parent_path() && !std::filesystem::is_directory(file.parent_path(), ignored)) {
    fail(ErrorKind::kIo, quote(file.native(), 4096), ": there is no directory ",
         quote(file.parent_path().native(), 4096));
  }
  return file;
}

Passage passage_of(const Statement& row) {
  return {row.integer(0), std::string(row.text(1)), row.integer(2), std::string(row.text(3)), std::string(row.text(4))};
}

}  // namespace

std::string readable(const Passage& passage) {
  return passage.title.empty() ? passage.text : concat(passage.title, " ", passage.text);
}

Store::Store(const std::filesystem::path& file, Access access, const WordSettings& words)
    : database_(existing(file, access), access), words_(words) {
  require(words.stem == "none" || words.stem == "english", "stem must be none or english, found ", Quoted(words.stem));
  if (access == Access::kCreate && is_empty(database_)) {
    create_schema(database_, words.stem == "english" ? kEnglishWords : kPlainWords);
  }
  if (access == Access::kRead) {
    database_.run("BEGIN");  // all that is read from here on is of one commit, whatever others write
  }
  words_.stem = check_schema(database_) == kEnglishWords ? "english" : "none";
  if (access != Access::kRead) {
    database_.run("PRAGMA synchronous = NORMAL");
  }
}

StoreFacts Store::facts() {
  return {.texts = database_.number("SELECT count(*) FROM texts"),
          .passages = database_.number("SELECT count(*) FROM passages"),
          .vectors = database_.number("SELECT count(*) FROM codes")};
}

std::optional<std::string> Store::setting(const std::string& name) {
  Statement rows = database_.prepare("SELECT value FROM settings WHERE name = ?");
  rows.bind(1, name);
  return rows.step() ? std::optional(std::string(rows.text(0))) : std::nullopt;
}

void Store::set(const std::string& name, const std::string& value) {
  database_.prepare("INSERT OR REPLACE INTO settings VALUES(?, ?)").bind(1, name).bind(2, value).run();
}

std::optional<VectorSpace> Store::vector_space() {
  constexpr std::int64_t kWidest = 1 << 16;
  const std::optional<std::string> model = setting("model");
  if (!model) {
    return std::nullopt;
  }
  VectorSpace space{.model = *model, .digest = setting("model_digest").value_or("")};
  space.similarity = setting("similarity").value_or("");
  const std::optional<std::int64_t> width = integer_of(setting("width").value_or(""));
  if (!width || *width < 1 || *width > kWidest || (space.similarity != "cosine" && space.similarity != "dot")) {
    database_.damaged("its settings do not say what its vectors are");
  }
  space.width = *width;
  const std::optional<std::int64_t> longest = integer_of(setting("max_length").value_or("0"));
  const std::string truncate = setting("truncate").value_or("false");
  if (!longest || *longest < 0 || (truncate != "false" && truncate != "true")) {
    database_.damaged("its settings do not say how its model reads");
  }
  space.reading = {.max_length = *longest, .truncate = truncate == "true"};
  return space;
}

void Store::set_vector_space(const VectorSpace& space, bool anew) {
  Transaction transaction(database_);
  const std::optional<VectorSpace> before = vector_space();
  if (anew || !before || !before->is_that_of(space)) {
    database_.run("DELETE FROM codes; DELETE FROM vectors");
  }
  set("model", space.model);
  set("model_digest", space.digest);
  set("width", std::to_string(space.width));
  set("similarity", space.similarity);
  set("max_length", std::to_string(space.reading.max_length));
  set("truncate", space.reading.truncate ? "true" : "false");
  transaction.commit();
}

std::vector<Passage> Store::without_vector(std::int64_t after, std::int64_t count) {
  Statement rows = database_.prepare(
      "SELECT passages.number, texts.id, begin, title, text FROM passages JOIN texts ON texts.number = text_number "
      "LEFT JOIN codes ON codes.number = passages.number WHERE passages.number > ? AND codes.number IS NULL "
      "ORDER BY passages.number LIMIT ?");
  rows.bind(1, after).bind(2, count);
  std::vector<Passage> found;
  while (rows.step()) {
    found.push_back(passage_of(rows));
  }
  return found;
}

std::vector<std::int64_t> Store::longest_passages(std::int64_t count) {
  Statement rows = database_.prepare(
      "SELECT length(CAST(title AS BLOB)) + length(CAST(text AS BLOB)) AS bytes FROM passages ORDER BY bytes DESC "
      "LIMIT ?");
  rows.bind(1, count);
  std::vector<std::int64_t> found;
  while (rows.step()) {
    found.push_back(rows.integer(0));
  }
  return found;
}

Passage Store::passage(std::int64_t number) {
  Statement rows = database_.prepare(
      "SELECT passages.number, texts.id, begin, title, text FROM passages JOIN texts ON texts.number = text_number "
      "WHERE passages.number = ?");
  rows.bind(1, number);
  if (!rows.step()) {
    database_.damaged(concat("it has no passage ", number, ", which its index names"));
  }
  return passage_of(rows);
}

std::vector<std::string> Store::ids_of(std::span<const std::int64_t> passages) {
  Statement rows = database_.prepare(
      "SELECT texts.id FROM passages JOIN texts ON texts.number = text_number WHERE passages.number = ?");
  std::vector<std::string> ids;
  ids.reserve(passages.size());
  for (const std::int64_t number : passages) {
    rows.bind(1, number);
    if (!rows.step()) {
      database_.damaged(concat("it has no passage ", number, ", which its index names"));
    }
    ids.emplace_back(rows.text(0));
    rows.reset();
  }
  return ids;
}

}  // namespace weft::store
