// SPDX-License-Identifier: Apache-2.0
// How well texts answer a query: a cross-encoder reads the query together with each text (Nogueira and Cho 2019), as
// CrossEncoder.predict and CrossEncoder.rank of sentence-transformers do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct RerankOptions {
  checkpoint::CrossEncoderSettings settings = {};  ///< read_cross_encoder() of the model's directory
  bool raw_scores = false;                         ///< logits, without the activation
  bool windows = false;      ///< a text too long for the model is read in windows, each with the whole query
  std::int64_t top_k = 0;    ///< texts that rerank() lists, best first; 0: all
  bool return_text = false;  ///< rerank() lists the texts themselves too
  RunOptions run = {};
};

/// Throws unless `directory` has a head that gives a pair one score: kArgument naming what it has (no head, another
/// head, several labels, an embedder's modules) and the command for that. Errors: as OpenedModel::need() of
/// Ability::kRead.
void require_cross_encoder(const checkpoint::OpenedModel& directory);

/// Throws what is wrong whatever the pairs are: kArgument for a model that gives a pair no single score, and, unless
/// scores are raw, for an activation that Weft does not know and for one that makes all scores the same (Softmax).
void check_rerank(const TaskModel& task, const RerankOptions& options);

/// For each pair of a query (`first`) and a text (`second`) a number, its score; results do not depend on the pairs
/// beside. The settings' prompt goes before each query. A pair beyond the model's length is an error, or with
/// run.truncate loses tokens at the end of whichever text is longer (longest_first), or with `windows` is read in
/// windows over the text, and the best window's score is the text's. `task` has a sequence-classification head of one
/// label. The metadata has "activation" ("Sigmoid"; "none" for raw scores) too, and with several windows
/// "best_window", its place in the text {"start", "end", "byte_start", "byte_end"}. Errors: TextTooLong; kArgument for
/// a pair without a second text, for an activation that Weft does not know and for one that makes all scores the same
/// (Softmax), unless the scores are raw; UnfitText for a query that leaves no room for a text; kNumeric; kInterrupted.
std::vector<TaskResult> score_pairs(TaskModel& task, std::span<const Document> pairs, const RerankOptions& options);

/// What score_pairs() gave for `texts` (`first` of each), in their order, as one result: [{"index", "score"}], with
/// return_text "text" too, best first, equal scores in the order of the texts, at most top_k. A text whose result is
/// null has no score and is not listed. The metadata has "tokens", "windows", "truncated" and, where a text had several
/// windows, "best_window" as lists in the order of the texts. Errors: kArgument for another number of scores than
/// texts.
TaskResult ranking(std::span<const TaskResult> scores, std::span<const Document> texts, const RerankOptions& options);

/// ranking() of texts (`first` of each) by how well they answer `query`. Errors: as score_pairs(), naming the text;
/// kArgument for no texts.
TaskResult rerank(TaskModel& task, const std::string& query, std::span<const Document> texts,
                  const RerankOptions& options);

}  // namespace weft::tasks
