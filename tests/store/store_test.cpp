// SPDX-License-Identifier: Apache-2.0
// Texts go into a store and out of it whole or not at all; files that are no stores are one line each.
#include "weft/store/store.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/store/file/schema.h"
#include "weft/store/search.h"
#include "weft/store/store_writer.h"

namespace weft::store {
namespace {

class StoreFile : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return directory_.path() / "texts.weft"; }
  static CorpusText text(const std::string& id, const std::string& words) {
    return {.id = id, .title = "", .text = words, .where = "'corpus' text " + id};
  }
  WriteCounts put(const std::vector<CorpusText>& texts, bool alone = false) {
    Store store(file(), Access::kCreate);
    StoreWriter writer(store);
    for (const CorpusText& one : texts) {
      writer.put(one, 0);
    }
    if (alone) {
      writer.remove_others();
    }
    writer.commit();
    return writer.counts();
  }
  std::vector<std::string> found(const std::string& question) {
    Store store(file(), Access::kRead);
    StoreSearch search(store);
    std::vector<std::string> ids;
    for (const Hit& hit : search.search({.text = question})) {
      ids.push_back(store.passage(hit.passage).id);
    }
    return ids;
  }
  void change(const std::string& sql) {
    Database database(file(), Access::kWrite);
    sqlite().db_config(database.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    database.run(sql);
  }
  std::string error() {
    return error_of([&] { Store(file(), Access::kRead); });
  }

  test::TemporaryDirectory directory_;

 private:
  template <typename Call>
  static std::string error_of(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
};

using Ids = std::vector<std::string>;

TEST_F(StoreFile, TextsAreAddedUpdatedAndRemoved) {
  EXPECT_EQ(put({text("a", "The loom weaves."), text("b", "Rates rose."), text("c", "A weaver's loom.")}).added, 3);
  EXPECT_EQ(found("loom"), (Ids{"a", "c"}));
  const WriteCounts second = put({text("a", "Nobody weaves."), text("b", "Rates rose.")});
  EXPECT_EQ(second.updated, 1);
  EXPECT_EQ(second.unchanged, 1);
  EXPECT_EQ(found("loom"), Ids{"c"});
  EXPECT_EQ(put({text("b", "Rates rose.")}, true).removed, 2);
  EXPECT_EQ(found("loom weaves rates"), Ids{"b"});
  Store store(file(), Access::kWrite);
  StoreWriter writer(store);
  EXPECT_FALSE(writer.remove("a"));
  EXPECT_TRUE(writer.remove("b"));
  writer.commit();
  EXPECT_EQ(store.facts().passages, 0);
}

TEST_F(StoreFile, WhatWasNotCommittedIsNotThere) {
  put({text("a", "The loom weaves.")});
  {
    Store store(file(), Access::kWrite);
    StoreWriter writer(store);
    writer.put(text("a", "Gone."), 0);
    writer.put(text("b", "loom"), 0);
  }
  EXPECT_EQ(found("loom gone"), Ids{"a"});
}

TEST_F(StoreFile, AnIdThatComesTwiceIsNamedWithBothPlaces) {
  Store store(file(), Access::kCreate);
  StoreWriter writer(store);
  writer.put({.id = "x", .text = "one", .where = "'c.jsonl' line 1"}, 0);
  test::expect_error(ErrorKind::kArgument, {"'c.jsonl' line 7: the id 'x' was there before: 'c.jsonl' line 1"},
                     [&] { writer.put({.id = "x", .text = "one", .where = "'c.jsonl' line 7"}, 0); });
}

TEST_F(StoreFile, OneProcessWritesAndOthersRead) {
  put({text("a", "The loom weaves.")});
  Store first(file(), Access::kWrite);
  StoreWriter writer(first);
  writer.put(text("b", "loom"), 0);
  EXPECT_EQ(found("loom"), Ids{"a"});
  writer.commit();
  EXPECT_EQ(found("loom"), (Ids{"b", "a"}));
}

TEST_F(StoreFile, WhoReadsSeesOneCommit) {
  put({text("a", "The loom weaves.")});
  Store store(file(), Access::kRead);
  put({text("b", "loom")});
  EXPECT_EQ(store.facts().texts, 1);
  EXPECT_EQ(Store(file(), Access::kRead).facts().texts, 2);
  StoreSearch search(store);
  EXPECT_EQ(search.search({.text = "loom"}).size(), 1U);
}

TEST_F(StoreFile, TablesAreMadeOnce) {
  put({text("a", "one")});
  Store store(file(), Access::kWrite);
  create_schema(store.database(), kPlainWords);
  EXPECT_EQ(store.facts().texts, 1);
}

TEST_F(StoreFile, OtherFilesAreRefused) {
  EXPECT_NE(error().find("there is no such store"), std::string::npos);
  write_file_atomically(file(), "a text that is no database, and longer than the head of one would be");
  EXPECT_NE(error().find("it is no database of SQLite"), std::string::npos);
  write_file_atomically(file(), "");
  EXPECT_NE(error().find("it is empty"), std::string::npos);
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_NE(error().find("it is a directory, expected the file of a store"), std::string::npos);
  std::filesystem::remove(file());
  Database(file(), Access::kCreate).run("CREATE TABLE a(b)");
  EXPECT_NE(error().find("a database of another program"), std::string::npos);
}

TEST_F(StoreFile, ALaterVersionIsNamed) {
  put({text("a", "one")});
  change("PRAGMA user_version = 2");
  EXPECT_NE(error().find("a later version of Weft wrote this store: its form is 2, and this program reads 1"),
            std::string::npos);
}

TEST_F(StoreFile, TablesThatAStoreDoesNotHaveAreRefused) {
  put({text("a", "one")});
  change("CREATE TRIGGER t AFTER INSERT ON texts BEGIN DELETE FROM texts; END");
  EXPECT_NE(error().find("it has an object 't'"), std::string::npos);
  change("DROP TRIGGER t; DROP TABLE codes; CREATE VIEW codes AS SELECT 1");
  EXPECT_NE(error().find("its table codes is not that of a store"), std::string::npos);
}

TEST_F(StoreFile, AnIndexThatNamesAPassageThatIsNotThereIsDamaged) {
  put({text("a", "loom"), text("b", "loom")});
  change("DELETE FROM passages WHERE number = 2");
  test::expect_error(ErrorKind::kFormat, {"another number of passages"}, [&] { found("loom"); });
}

TEST_F(StoreFile, HowItsModelReadsIsKept) {
  Store store(file(), Access::kCreate);
  store.set_vector_space({.model = "m", .digest = "d", .width = 4, .reading = {.max_length = 16, .truncate = true}});
  EXPECT_EQ(Store(file(), Access::kRead).vector_space()->reading, (Reading{.max_length = 16, .truncate = true}));
  store.database().run("DELETE FROM settings WHERE name IN ('max_length', 'truncate')");  // as earlier ones were made
  EXPECT_EQ(Store(file(), Access::kRead).vector_space()->reading, Reading());
  change("INSERT INTO settings VALUES('max_length', 'long')");
  test::expect_error(ErrorKind::kFormat, {"how its model reads"}, [&] { Store(file(), Access::kRead).vector_space(); });
}

TEST_F(StoreFile, StemsAreAPropertyOfTheFile) {
  {
    Store store(file(), Access::kCreate, {.stem = "english"});
  }
  put({text("a", "weaving looms")});
  EXPECT_EQ(found("the loom weaves"), Ids{"a"});
  EXPECT_EQ(Store(file(), Access::kRead).words().stem, "english");
}

}  // namespace
}  // namespace weft::store
