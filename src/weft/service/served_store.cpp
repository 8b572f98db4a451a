// SPDX-License-Identifier: Apache-2.0
// Nothing is locked: all searches are done on the thread that computes. While it reads a long question it is lent to
// shorter work, which may be another search, so that a question is read before the store is looked at.
#include "weft/service/served_store.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/InferenceMode.h>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/text/number_text.h"
#include "weft/requests/request_body.h"
#include "weft/requests/search_body.h"
#include "weft/server/http_error.h"
#include "weft/tasks/search/passage_vectors.h"
#include "weft/tasks/search/text_search.h"

namespace weft::service {
namespace {

using formats::Json;
using Clock = std::chrono::steady_clock;

// One state of the file, with what was read of it.
struct OpenStore {
  explicit OpenStore(const std::filesystem::path& file) : store(file, store::Access::kRead), search(store) {}
  store::Store store;
  store::StoreSearch search;
};

class ServedStore {
 public:
  ServedStore(const StoreToServe& asked, std::optional<tasks::PassageEmbedder> embedder)
      : asked_(asked), embedder_(std::move(embedder)), watch_(asked.file, store::Access::kRead) {
    version_ = version();
    open(std::make_unique<OpenStore>(asked_.file));
    looked_ = Clock::now();
  }

  const std::string& name() const noexcept { return asked_.name; }

  // What "auto" is. Errors: kArgument for vectors where the server has no model for questions.
  std::string way(const std::string& by) const {
    require(embedder_.has_value() || by == "auto" || by == "words", "'by' is ", by, ", and the store ",
            Quoted(asked_.name), " was served without vectors: expected auto or words");
    return by != "auto" ? by : embedder_ ? "both" : "words";
  }

  // Where requests are read, as what comes of the store is not.
  std::shared_ptr<const requests::SearchedTexts> texts() const { return texts_.load(); }

  Json answer(const std::string& query, const requests::SearchBody& body) {
    store::SearchQuestion question{.text = query, .by = way(body.by)};
    question.count = static_cast<std::size_t>(body.top_k);
    question.depth = static_cast<std::size_t>(tasks::SearchConfig().depth);
    std::vector<float> vector;
    if (question.by != "words") {
      vector = tasks::question_vector(*embedder_, query);
      question.vector = vector;
    }
    look_for_news();
    return {{"by", question.by}, {"passages", tasks::passages_json(open_->store, open_->search.search(question))}};
  }

 private:
  // The number changes with each commit of another process.
  std::int64_t version() { return watch_.number("PRAGMA data_version"); }

  void open(std::unique_ptr<OpenStore> next) {
    open_.reset();  // what two have read would take the memory of two
    next->search.prepare(way("auto"));
    texts_ = std::make_shared<const requests::SearchedTexts>(requests::SearchedTexts{
        .passages = next->store.facts().passages, .longest = next->store.longest_passages(requests::kMostPassages)});
    open_ = std::move(next);
  }

  // Vectors that another process has yet to compute are waited for: until then questions see the store as it was. Where
  // the look fails, the next question looks again.
  void look_for_news() {
    if (open_ && Clock::now() - looked_ < asked_.look_after) {
      return;
    }
    const std::int64_t now = version();
    if (!open_ || now != version_) {
      auto next = std::make_unique<OpenStore>(asked_.file);
      if (is_complete(next->store)) {
        open(std::move(next));
        version_ = now;
      }
    }
    looked_ = Clock::now();
  }

  // Whether questions can be asked of `next`. Errors: HttpError 503 where its vectors are of another model than
  // questions, and where some are to come and there is no store as it was.
  bool is_complete(store::Store& next) const {
    if (!embedder_) {
      return true;
    }
    const std::optional<store::VectorSpace> space = next.vector_space();
    if (!space || !space->is_that_of(*asked_.space) || space->reading != asked_.space->reading) {
      unavailable(concat("the vectors of the store ", quote(asked_.name),
                         " are of another model now, or it reads otherwise; weft serve must be started again"));
    }
    const store::StoreFacts facts = next.facts();
    const bool complete = facts.vectors == facts.passages;
    if (!complete && !open_) {
      unavailable(concat("the store ", quote(asked_.name), " is being built: ", facts.passages - facts.vectors, " of ",
                         facts.passages, " passages have no vector yet"));
    }
    return complete;
  }

  [[noreturn]] static void unavailable(const std::string& message) {
    throw server::HttpError(server::status::kUnavailable, "unavailable", message);
  }

  StoreToServe asked_;
  std::optional<tasks::PassageEmbedder> embedder_;
  store::Database watch_;
  std::unique_ptr<OpenStore> open_;
  std::int64_t version_ = 0;
  Clock::time_point looked_;
  std::atomic<std::shared_ptr<const requests::SearchedTexts>> texts_;
};

// A store that is damaged, or of a later version by now, is no mistake of the client, and what is wrong with it is for
// the log.
Json answer_of(ServedStore& served, const std::string& query, const requests::SearchBody& body) {
  try {
    return served.answer(query, body);
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    if (kind != ErrorKind::kFormat && kind != ErrorKind::kIo && kind != ErrorKind::kUnsupported) {
      throw;
    }
    log_error("a search failed: ", error.what());
    throw server::HttpError(
        server::status::kUnavailable, "unavailable",
        concat("the store ", quote(served.name()), " cannot be read now; the server's log says why"));
  }
}

server::Work search_work(const std::shared_ptr<ServedStore>& served, const std::string& name,
                         const requests::SearchBody& body) {
  server::Work work{.group = concat(name, "/search ", served->way(body.by), ' ', body.top_k),
                    .texts = {{.first = body.query}}};
  work.cost = requests::search_cost(body, *served->texts());
  work.compute = [served, body](std::span<const server::Text> questions) {
    const c10::InferenceMode plain_state(false);  // other work may go on behind this
    std::vector<Json> results;
    results.reserve(questions.size());
    for (const server::Text& question : questions) {
      results.push_back(answer_of(*served, question.first, body));
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
  if (!limits.on_gpu) {  // searches are work of the CPU
    account.work += static_cast<std::int64_t>(store::WordIndexOptions().most_bytes) +
                    store.facts.passages * kBytesOfPassage +
                    (store.space ? store.facts.vectors * (store.space->width + kBytesOfPassage) : 0);
  }
  account.how = concat(account.how, account.how.empty() ? "" : ", and ", digits(store.facts.passages), " passages");
  return account;
}

ServedModel serve_store(const StoreToServe& store, const ServeSettings& settings) {
  std::optional<tasks::PassageEmbedder> embedder;
  if (store.embedder) {
    const checkpoint::OpenedModel& directory = *store.embedder;
    tasks::BatchLimits batch = settings.batch;
    batch.tokens = kReadTogether;
    store::Store opened(store.file, store::Access::kRead);
    embedder = tasks::open_question_embedder(opened, directory, directory.root().string(),
                                             tasks::model_options(encoder_settings(settings.encoder, directory.root())),
                                             batch);
  }
  const auto served = std::make_shared<ServedStore>(store, std::move(embedder));
  ServedModel model{.name = store.name, .kind = "store"};
  const BodyHandler answer = [served, name = store.name](const Json& body) -> server::Answer {
    return search_work(served, name, requests::read_search_body(body));
  };
  model.tasks["search"] = {reads_body(answer), requests::search_operation()};
  name_errors(model, store.file);
  if (store.embedder) {
    name_errors(model, store.embedder->root());
  }
  return model;
}

}  // namespace weft::service
