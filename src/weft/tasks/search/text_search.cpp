// SPDX-License-Identifier: Apache-2.0
// The search finds, the reranker sorts: each knows nothing of the other.
#include "weft/tasks/search/text_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/tasks/embedding/sentence_limits.h"

namespace weft::tasks {
namespace {

std::vector<store::Hit> sorted_once_more(store::Store& store, Reranker& reranker, const std::string& question,
                                         std::vector<store::Hit> hits) {
  std::vector<Document> pairs;
  pairs.reserve(hits.size());
  for (const store::Hit& hit : hits) {
    const store::Passage passage = store.passage(hit.passage);
    pairs.push_back({question, store::readable(passage), concat("the text ", quote(passage.id))});
  }
  const std::vector<TaskResult> scores = score_pairs(reranker.model, pairs, reranker.options);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    hits[i].score = scores[i].result.get<double>();
  }
  // Of equal scores the order of the search stays.
  std::stable_sort(hits.begin(), hits.end(),
                   [](const store::Hit& a, const store::Hit& b) { return a.score > b.score; });
  return hits;
}

}  // namespace

Reranker open_reranker(const checkpoint::OpenedModel& directory, const TaskModelOptions& options,
                       const BatchLimits& batch) {
  require_cross_encoder(directory);
  TaskModelOptions with_head = options;
  with_head.head = models::Head::kSequenceClassification;
  Reranker reranker{.model = open_task_model(directory, with_head),
                    .options = {.settings = checkpoint::read_cross_encoder(directory), .windows = true}};
  if (const auto sentence = checkpoint::read_sentence_directory(directory.root())) {
    take_sentence_limits(reranker.model, *sentence, options.max_length);
  }
  reranker.options.run.batch = batch;
  check_rerank(reranker.model, reranker.options);
  return reranker;
}

std::vector<store::Hit> search_passages(store::StoreSearch& search, SearchModels& models, const std::string& question,
                                        const SearchConfig& config, std::int64_t count) {
  store::SearchQuestion asked{.text = question, .by = search.way(config.by)};
  asked.count = static_cast<std::size_t>(models.reranker ? config.rerank_depth : count);
  asked.depth = static_cast<std::size_t>(config.depth);
  std::vector<float> vector;
  if (asked.by != "words") {
    require(models.embedder.has_value(), search.store().name(), ": a search by vectors needs the model that made them");
    vector = question_vector(*models.embedder, question);
    asked.vector = vector;
  }
  std::vector<store::Hit> hits = search.search(asked);
  if (models.reranker) {
    hits = sorted_once_more(search.store(), *models.reranker, question, std::move(hits));
    hits.resize(std::min(hits.size(), static_cast<std::size_t>(count)));
  }
  return hits;
}

formats::Json passages_json(store::Store& store, const std::vector<store::Hit>& hits) {
  formats::Json list = formats::Json::array();
  for (const store::Hit& hit : hits) {
    store::Passage passage = store.passage(hit.passage);
    formats::Json entry = {{"id", std::move(passage.id)}, {"begin", passage.begin}, {"score", hit.score}};
    if (!passage.title.empty()) {
      entry["title"] = std::move(passage.title);
    }
    entry["text"] = std::move(passage.text);
    list.push_back(std::move(entry));
  }
  return list;
}

std::vector<store::RankedId> ranked_texts(store::Store& store, const std::vector<store::Hit>& hits) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(hits.size());
  for (const store::Hit& hit : hits) {
    numbers.push_back(hit.passage);
  }
  const std::vector<std::string> ids = store.ids_of(numbers);
  std::vector<store::RankedId> texts;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (seen.insert(ids[i]).second) {
      texts.push_back({ids[i], hits[i].score});
    }
  }
  return texts;
}

}  // namespace weft::tasks
