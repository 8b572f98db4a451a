// SPDX-License-Identifier: Apache-2.0
// FTS5 reads passages where they are, and must be told what a passage held before it goes.
#include "weft/store/store_writer.h"

#include <vector>

#include "weft/core/disk/digest.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/store/texts/passages.h"

namespace weft::store {
namespace {

// A text's digest with how it is cut; lengths keep title and text apart.
std::string digest_of_text(const CorpusText& text, std::int64_t length) {
  return digest_of(concat(length, ' ', text.title.size(), ' ', text.title, text.text));
}

}  // namespace

StoreWriter::StoreWriter(Store& store) : store_(store) {
  begin();
  run_ = store_.database().number("SELECT coalesce(max(run), 0) + 1 FROM texts");
}

void StoreWriter::begin() {
  if (!transaction_) {
    transaction_.emplace(store_.database());
  }
}

void StoreWriter::put(const CorpusText& text, std::int64_t length) {
  begin();
  Database& database = store_.database();
  const std::string digest = digest_of_text(text, length);
  Statement before = database.prepare("SELECT number, digest, source, run FROM texts WHERE id = ?");
  before.bind(1, text.id);
  if (!before.step()) {
    database.prepare("INSERT INTO texts(id, digest, source, run) VALUES(?, ?, ?, ?)")
        .bind(1, text.id)
        .bind(2, digest)
        .bind(3, text.where)
        .bind(4, run_)
        .run();
    add_passages(database.last_row(), text, length);
    ++counts_.added;
    return;
  }
  const std::int64_t number = before.integer(0);
  if (before.integer(3) == run_) {
    throw Error(ErrorKind::kArgument,
                concat(text.where, ": the id ", quote(text.id), " was there before: ", before.text(2)),
                "ids of texts must differ");
  }
  const bool changed = before.text(1) != digest;
  before.reset();
  database.prepare("UPDATE texts SET digest = ?, source = ?, run = ? WHERE number = ?")
      .bind(1, digest)
      .bind(2, text.where)
      .bind(3, run_)
      .bind(4, number)
      .run();
  if (changed) {
    remove_passages(number);
    add_passages(number, text, length);
  }
  ++(changed ? counts_.updated : counts_.unchanged);
}

void StoreWriter::add_passages(std::int64_t text_number, const CorpusText& text, std::int64_t length) {
  Database& database = store_.database();
  std::vector<text::SentencePlace> places = cut_passages(text.text, length);
  if (places.empty() && !text.title.empty()) {
    places.push_back({0, 0});
  }
  Statement passage = database.prepare("INSERT INTO passages(text_number, begin, title, text) VALUES(?, ?, ?, ?)");
  Statement words = database.prepare("INSERT INTO words(rowid, title, text) VALUES(?, ?, ?)");
  for (const text::SentencePlace& place : places) {
    const std::string_view part = place.in(text.text);
    passage.bind(1, text_number)
        .bind(2, static_cast<std::int64_t>(place.begin))
        .bind(3, text.title)
        .bind(4, part)
        .run();
    words.bind(1, database.last_row()).bind(2, text.title).bind(3, part).run();
  }
}

void StoreWriter::remove_passages(std::int64_t text_number) {
  Database& database = store_.database();
  const auto run = [&](std::string_view sql) { database.prepare(sql).bind(1, text_number).run(); };
  run("INSERT INTO words(words, rowid, title, text) SELECT 'delete', number, title, text FROM passages "
      "WHERE text_number = ?");
  run("DELETE FROM codes WHERE number IN (SELECT number FROM passages WHERE text_number = ?)");
  run("DELETE FROM vectors WHERE number IN (SELECT number FROM passages WHERE text_number = ?)");
  run("DELETE FROM passages WHERE text_number = ?");
}

bool StoreWriter::remove(const std::string& id) {
  begin();
  Database& database = store_.database();
  Statement found = database.prepare("SELECT number FROM texts WHERE id = ?");
  found.bind(1, id);
  if (!found.step()) {
    return false;
  }
  const std::int64_t number = found.integer(0);
  found.reset();
  remove_passages(number);
  database.prepare("DELETE FROM texts WHERE number = ?").bind(1, number).run();
  ++counts_.removed;
  return true;
}

void StoreWriter::remove_others() {
  begin();
  std::vector<std::string> ids;
  Statement others = store_.database().prepare("SELECT id FROM texts WHERE run <> ?");
  others.bind(1, run_);
  while (others.step()) {
    ids.emplace_back(others.text(0));
  }
  for (const std::string& id : ids) {
    remove(id);
  }
}

void StoreWriter::commit() {
  if (transaction_) {
    transaction_->commit();
    transaction_.reset();
  }
}

}  // namespace weft::store
