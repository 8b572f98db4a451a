// SPDX-License-Identifier: Apache-2.0
// Scores of pairs by a cross-encoder, and texts in the order of their scores. Each document is a query and a text.
#include "task_call.h"
#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/tasks/embedding/sentence_limits.h"
#include "weft/tasks/parameters/reranking.h"

namespace weft::python {
namespace {

// A cross-encoder, with what a directory of sentence-transformers says about its texts.
struct Ranker {
  tasks::TaskModel model;
  tasks::RerankOptions options;
};

Ranker open_ranker(Opened& opened, const TaskCall& call) {
  tasks::RerankConfig config;
  const tasks::RunOptions run = read_run(call, Windows::kHas, config);
  require(!config.windows || !run.truncate, call.task,
          ": windows and truncate cannot both be true: one reads a long text whole, the other cuts it");
  require(config.windows || !call.given.contains("stride"), call.task, ": stride is of the windows of windows=True");
  tasks::require_cross_encoder(opened.directory());
  Ranker ranker;
  ranker.options = tasks::rerank_options(config, checkpoint::read_cross_encoder(opened.directory()), run);
  ranker.model = opened.encoder(models::Head::kSequenceClassification);
  if (const auto sentence = checkpoint::read_sentence_directory(opened.directory().root())) {
    tasks::take_sentence_limits(ranker.model, *sentence, opened.max_length());
  }
  tasks::check_rerank(ranker.model, ranker.options);
  return ranker;
}

}  // namespace

Results score(Opened& model, const TaskCall& call) {
  Ranker ranker = open_ranker(model, call);
  return tasks::score_pairs(ranker.model, call.documents, ranker.options);
}

Results rerank(Opened& model, const TaskCall& call) {
  Ranker ranker = open_ranker(model, call);
  const Results scores = tasks::score_pairs(ranker.model, call.documents, ranker.options);
  std::vector<tasks::Document> texts;
  texts.reserve(call.documents.size());
  for (const tasks::Document& pair : call.documents) {
    texts.push_back({pair.second.value_or(""), {}, pair.name});
  }
  return {tasks::ranking(scores, texts, ranker.options)};
}

}  // namespace weft::python
