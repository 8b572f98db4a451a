// SPDX-License-Identifier: Apache-2.0
// A store that changes while it is served: what is there is found, what is being computed is waited for, and what
// cannot be searched is said to each question until it can.
#include "weft/service/served_store.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tasks/retrieval/small_directory.h"
#include "weft/server/http_error.h"
#include "weft/store/store_writer.h"
#include "weft/tasks/search/passage_vectors.h"

namespace weft::service {
namespace {

using formats::Json;
using std::chrono::milliseconds;
using test::expect_error;
using Ids = std::vector<std::string>;

constexpr milliseconds kAlways{0};
constexpr milliseconds kNever = std::chrono::hours(1);

class ServedStoreFile : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "notes.weft"; }

  void put(const std::string& id, const std::string& words) const {
    store::Store store(file(), store::Access::kCreate);
    store::StoreWriter writer(store);
    writer.put({.id = id, .text = words, .where = id}, 0);
    writer.commit();
  }
  // A tiny embedder; those with other positions are other models.
  std::filesystem::path embedder(std::int64_t positions = 64) const {
    const std::filesystem::path directory = folder_ / concat("embedder", positions);
    if (!std::filesystem::exists(directory)) {
      test::write_small_encoder(directory, models::Head::kNone, 1, positions);
    }
    return directory;
  }
  // As weft index does, or what it does before the first vector.
  void add_vectors(const std::filesystem::path& directory, bool anew = false, bool compute = true) const {
    store::Store store(file(), store::Access::kWrite);
    const checkpoint::OpenedModel opened = checkpoint::open_model(directory);
    tasks::PassageEmbedder model = tasks::open_passage_embedder(opened, {}, {}, {});
    store.set_vector_space(tasks::vector_space_of(model, opened, directory.string()), anew);
    if (compute) {
      tasks::add_passage_vectors(store, model, [](std::int64_t) { return true; });
    }
  }
  void change(const std::string& sql) const { store::Database(file(), store::Access::kWrite).run(sql); }

  void serve(milliseconds look_after = kAlways) {
    StoreToServe store = store_to_serve("notes", file());
    store.look_after = look_after;
    model_ = serve_store(store, {});
  }
  server::Work work(const Json& body) const {
    return std::get<server::Work>(model_.tasks.at("search").handle({.method = "POST", .body = body.dump()}));
  }
  Json search(const Json& body) const {
    const server::Work asked = work(body);
    return asked.finish(asked.compute(asked.texts));
  }
  // Sorted: which are found, and not which is better.
  Ids found(const std::string& query, const std::string& by = "words") const {
    const Json answer = search({{"query", query}, {"by", by}});
    Ids ids;
    for (const Json& passage : answer["passages"]) {
      ids.push_back(passage["id"]);
    }
    std::ranges::sort(ids);
    return ids;
  }
  // The message of 503, which names no file of this machine.
  std::string unavailable() const {
    try {
      search({{"query", "loom"}});
    } catch (const server::HttpError& error) {
      EXPECT_EQ(error.status(), server::status::kUnavailable);
      EXPECT_EQ(error.type(), "unavailable");
      EXPECT_EQ(std::string(error.what()).find(folder_.path().native()), std::string::npos) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "the question was answered";
    return {};
  }

  test::TemporaryDirectory folder_;
  ServedModel model_;
};

TEST_F(ServedStoreFile, WhatIsWrittenMeanwhileIsFound) {
  put("a", "The loom weaves.");
  serve();
  EXPECT_EQ(found("loom"), Ids{"a"});
  put("b", "A loom.");
  EXPECT_EQ(found("loom"), (Ids{"a", "b"}));
  put("a", "Nobody weaves.");
  EXPECT_EQ(found("loom"), Ids{"b"});
  serve(kNever);
  put("c", "Looms, and a loom.");
  EXPECT_EQ(found("loom"), Ids{"b"});
}

TEST_F(ServedStoreFile, VectorsThatAreBeingComputedAreWaitedFor) {
  put("a", "the loom");
  add_vectors(embedder());
  serve();
  EXPECT_EQ(found("man", "vectors"), Ids{"a"});
  put("b", "a man");
  EXPECT_EQ(found("man", "both"), Ids{"a"});
  EXPECT_EQ(found("man"), Ids{});
  add_vectors(embedder());
  EXPECT_EQ(found("man", "vectors"), (Ids{"a", "b"}));
  EXPECT_EQ(found("man"), Ids{"b"});
  add_vectors(embedder(), true, false);  // all vectors are gone
  EXPECT_EQ(found("man", "vectors"), (Ids{"a", "b"}));
}

TEST_F(ServedStoreFile, VectorsOfAnotherModelAreSaidToEachQuestion) {
  put("a", "the loom");
  add_vectors(embedder());
  constexpr milliseconds kSoon{20};
  serve(kSoon);
  add_vectors(embedder(32), true);
  std::this_thread::sleep_for(kSoon);
  for (int question = 0; question < 2; ++question) {
    EXPECT_EQ(unavailable(),
              "the vectors of the store 'notes' are of another model now, or it reads otherwise; weft serve must be "
              "started again");
  }
  add_vectors(embedder(), true);
  EXPECT_EQ(found("loom", "both"), Ids{"a"});
}

TEST_F(ServedStoreFile, AStoreThatCannotBeReadIsSaidToEachQuestion) {
  put("a", "the loom");
  serve();
  change("PRAGMA user_version = 9");
  for (int question = 0; question < 2; ++question) {
    EXPECT_EQ(unavailable(), "the store 'notes' cannot be read now; the server's log says why");
  }
  change("PRAGMA user_version = 1");
  EXPECT_EQ(found("loom"), Ids{"a"});
}

TEST_F(ServedStoreFile, AStoreThatIsBuiltAnewBehindADamagedOne) {
  put("a", "the loom");
  add_vectors(embedder());
  serve();
  change("UPDATE codes SET scale = -1.0");
  EXPECT_EQ(unavailable(), "the store 'notes' cannot be read now; the server's log says why");
  add_vectors(embedder(), true, false);
  EXPECT_EQ(unavailable(), "the store 'notes' is being built: 1 of 1 passages have no vector yet");
  add_vectors(embedder());
  EXPECT_EQ(found("loom", "vectors"), Ids{"a"});
}

TEST_F(ServedStoreFile, AStoreIsWholeWhenItsServerStarts) {
  put("a", "the loom");
  add_vectors(embedder(), false, false);
  expect_error(ErrorKind::kArgument, {"1 of 1 passages have no vector yet"}, [&] { serve(); });
}

TEST_F(ServedStoreFile, RefusesWhatIsNoQuestion) {
  put("a", "the loom");
  serve();
  const auto refuses = [&](const Json& body, std::string_view word) {
    expect_error(ErrorKind::kArgument, {word}, [&] { work(body); });
  };
  refuses(Json::object(), "no 'query'");
  refuses({{"query", ""}}, "'query' is empty");
  refuses({{"query", "x"}, {"top_k", 101}}, "top_k");
  refuses({{"query", "x"}, {"by", "force"}}, "by");
  expect_error(ErrorKind::kFormat, {"depth"}, [&] { work({{"query", "x"}, {"depth", 3}}); });
  refuses({{"query", "x"}, {"by", "vectors"}}, "'by' is vectors, and the store 'notes' was served without vectors");
}

TEST_F(ServedStoreFile, WhatAQuestionCostsFollowsTheStore) {
  put("a", std::string(5000, 'a'));
  serve();
  const server::Work before = work({{"query", "loom"}, {"top_k", 5}});
  EXPECT_GE(before.cost.tokens, 4);
  EXPECT_GE(before.cost.answer_bytes, 5000);
  EXPECT_EQ(before.group, work({{"query", "a man"}, {"top_k", 5}}).group);
  EXPECT_NE(before.group, work({{"query", "loom"}, {"top_k", 6}}).group);
  put("b", std::string(7000, 'b'));
  found("loom");
  EXPECT_GE(work({{"query", "loom"}, {"top_k", 5}}).cost.answer_bytes, 12000);
}

}  // namespace
}  // namespace weft::service
