// SPDX-License-Identifier: Apache-2.0
// A search of a store from the words of a question to passages, with the models that it takes: an embedder for the
// question, a cross-encoder to sort what was found once more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/store/search.h"
#include "weft/store/texts/judgements.h"
#include "weft/tasks/rerank.h"
#include "weft/tasks/search/passage_vectors.h"

namespace weft::tasks {

struct SearchConfig {
  std::string by = "auto";
  std::int64_t top_k = 10;
  std::int64_t depth = 200;
  std::int64_t rerank_depth = 100;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = SearchConfig;
    visit(Field{"by", &C::by,
                "what passages are found by: their words (BM25), their vectors, or both rankings joined by reciprocal "
                "rank fusion; auto is both where the store has vectors, else words"}
              .one_of({store::kSearchWays.begin(), store::kSearchWays.end()}));
    visit(Field{"top_k", &C::top_k, "passages that are listed, best first"}.range(1, 1000));
    visit(Field{"depth", &C::depth, "passages of each ranking that are joined"}.range(1, 10000));
    visit(Field{"rerank_depth", &C::rerank_depth, "passages that a cross-encoder sorts once more"}.range(1, 10000));
  }
};

/// A cross-encoder, and how it is run. A passage that is too long for it is read in windows.
struct Reranker {
  TaskModel model;
  RerankOptions options;
};

/// Opens `directory`. Errors: as require_cross_encoder() and check_rerank().
Reranker open_reranker(const checkpoint::OpenedModel& directory, const TaskModelOptions& options,
                       const BatchLimits& batch);

/// The models of a search; a search by words needs none.
struct SearchModels {
  std::optional<PassageEmbedder> embedder;
  std::optional<Reranker> reranker = {};
};

/// The `count` best passages for `question`: found as config.by says, and where there is a reranker, the first
/// rerank_depth of them sorted by its scores. Errors: as StoreSearch and the models.
std::vector<store::Hit> search_passages(store::StoreSearch& search, SearchModels& models, const std::string& question,
                                        const SearchConfig& config, std::int64_t count);

/// [{"id", "begin", "score", "title", "text"}], "title" where there is one: hits for people and programs; `begin` is
/// the byte of the text at which the passage begins.
formats::Json passages_json(store::Store& store, const std::vector<store::Hit>& hits);

/// The texts of hits, each once, with the score of its best passage.
std::vector<store::RankedId> ranked_texts(store::Store& store, const std::vector<store::Hit>& hits);

}  // namespace weft::tasks
