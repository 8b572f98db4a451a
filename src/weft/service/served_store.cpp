// SPDX-License-Identifier: Apache-2.0
// One thread searches at a time; a second connection tells whether another process has written.
#include "weft/service/served_store.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/core/text/number_text.h"
#include "weft/requests/request_body.h"
#include "weft/requests/search_body.h"
#include "weft/tasks/search/passage_vectors.h"
#include "weft/tasks/search/text_search.h"

namespace weft::service {
namespace {

using formats::Json;
using Clock = std::chrono::steady_clock;

// A store that is searched by one thread at a time.
class ServedStore {
 public:
  ServedStore(const std::filesystem::path& file, tasks::SearchModels models)
      : file_(file), watch_(file, store::Access::kRead), models_(std::move(models)) {
    open();
  }

  Json answer(const requests::SearchBody& body) {
    const std::lock_guard<std::mutex> one(mutex_);
    look_for_news();
    const tasks::SearchConfig config{.by = body.by, .top_k = body.top_k};
    return {{"by", search_->way(body.by)},
            {"passages",
             tasks::passages_json(*store_, tasks::search_passages(*search_, models_, body.query, config, body.top_k))}};
  }

 private:
  // The number changes with each commit of another process.
  std::int64_t version() { return watch_.database().number("PRAGMA data_version"); }
  void open() {
    version_ = version();
    search_.reset();
    store_.emplace(file_, store::Access::kRead);
    search_.emplace(*store_);
    search_->prepare(search_->way("auto"));
    opened_ = Clock::now();
  }
  void look_for_news() {
    constexpr std::chrono::seconds kBetween{10};
    if (Clock::now() - opened_ > kBetween && version() != version_) {
      open();
    }
  }

  std::filesystem::path file_;
  store::Store watch_;
  tasks::SearchModels models_;
  std::optional<store::Store> store_;
  std::optional<store::StoreSearch> search_;
  std::int64_t version_ = 0;
  Clock::time_point opened_;
  std::mutex mutex_;
};

server::Work search_work(const std::shared_ptr<ServedStore>& served, const std::string& name,
                         const requests::SearchBody& body) {
  server::Work work{.group = concat(name, "/search ", body.by, ' ', body.top_k), .texts = {{.first = body.query}}};
  work.cost = requests::search_cost(body);
  work.compute = [served, body](std::span<const server::Text> questions) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    std::vector<Json> results;
    for (const server::Text& question : questions) {
      requests::SearchBody one = body;
      one.query = question.first;
      results.push_back(served->answer(one));
    }
    return results;
  };
  work.finish = [](std::vector<Json> results) { return std::move(results.front()); };
  return work;
}

}  // namespace

StoreToServe store_to_serve(const std::string& name, const std::filesystem::path& file) {
  store::Store store(file, store::Access::kRead);
  StoreToServe found{.name = name, .file = file, .facts = store.facts(), .space = store.vector_space(), .embedder = {}};
  if (found.space) {
    found.embedder = checkpoint::open_model(found.space->model);
  }
  return found;
}

MemoryAccount store_account(const StoreToServe& store, const tasks::EncoderRunConfig& config,
                            const AccountLimits& limits) {
  constexpr std::int64_t kBytesOfPassage = 64;  // scores, lengths and bounds while a question is answered
  MemoryAccount account{.model = store.name};
  if (store.embedder) {
    account = memory_account(store.name, *store.embedder, config, limits);
  }
  account.work += static_cast<std::int64_t>(store::WordIndexOptions().most_bytes) +
                  store.facts.passages * kBytesOfPassage +
                  (store.space ? store.facts.vectors * (store.space->width + kBytesOfPassage) : 0);
  account.how = concat(account.how, account.how.empty() ? "" : ", and ", digits(store.facts.passages), " passages");
  return account;
}

ServedModel serve_store(const StoreToServe& store, const ServeSettings& settings) {
  tasks::SearchModels models;
  if (store.embedder) {
    const checkpoint::OpenedModel& directory = *store.embedder;
    models.embedder =
        tasks::open_embedder(directory, tasks::model_options(encoder_settings(settings.encoder, directory.root())));
    models.run.run.batch = settings.batch;
    store::Store opened(store.file, store::Access::kRead);
    tasks::check_same_model(opened, tasks::vector_space_of(*models.embedder, directory, directory.root().string()));
  }
  const auto served = std::make_shared<ServedStore>(store.file, std::move(models));
  ServedModel model{.name = store.name, .kind = "store"};
  const BodyHandler answer = [served, name = store.name](const Json& body) -> server::Answer {
    return search_work(served, name, requests::read_search_body(body));
  };
  model.tasks["search"] = {reads_body(answer), requests::search_operation()};
  return model;
}

}  // namespace weft::service
