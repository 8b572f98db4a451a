// SPDX-License-Identifier: Apache-2.0
// A cross-encoder: how well a text answers a query, of a label for each pair (Nogueira and Cho 2019), or by softmax
// over the texts of a query.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/retrieval/text_groups.h"

namespace weft::fine_tuning {

/// Overrides as Objective describes them. A row is a query and a text. An example is a row, or with the loss softmax
/// the rows of a query: those of a record with negatives, or of records that follow each other. Figures: "loss" (binary
/// cross entropy), with scores "pearson" and "spearman" of what the directory's activation makes of the logits, and
/// where a query has several texts "ndcg_at_10", "mrr_at_10", "map", "recall_at_1" and "recall_at_10" among them.
class RerankObjective final : public Objective {
 public:
  /// Errors: kArgument for class weights.
  explicit RerankObjective(Setup setup);

  HeadChoice choose_head() override;
  std::vector<std::pair<std::string, std::string>> remarks() const override;
  std::int64_t tokens_at_once() const override { return setup().retrieval.mini_batch_tokens; }
  void save(const std::filesystem::path& directory) const override;
  RowRange row_range(Split split, std::int64_t example) const override;
  std::int64_t examples(Split split) const override;
  at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const override;
  std::int64_t numbers(std::int64_t /*example*/) const override { return 1; }
  formats::Json figures(Kept kept) const override;
  Findings findings(Kept kept) const override;
  formats::Json errors(Kept kept) const override;
  void predictions(Kept kept, const WriteLine& write) const override;
  std::uint64_t fingerprint() const override;

 protected:
  ReadSummary read_files(Split split, const std::vector<std::string>& paths) override;

 private:
  /// What people say of the rows of a split.
  struct Labels {
    std::vector<double> values;         // of each row, from 0 to 1
    std::vector<std::int64_t> queries;  // of each row, a number by its letters
    std::vector<std::string> texts;     // of each query number
    std::unordered_map<std::string, std::int64_t> numbers;
    bool scored = false;  // whether a record said a score
  };

  void add(Split split, const TextGroup& group, ReadSummary& summary);
  void check_labels() const;
  void make_lists();
  double score(double logit) const;
  std::vector<std::vector<std::size_t>> rows_by_query() const;
  std::vector<double> losses(Kept kept) const;
  formats::Json ranking_figures(Kept kept) const;

  const Labels& labels(Split split) const { return labels_[split]; }

  std::optional<checkpoint::SentenceDirectory> sentence_;  // what the library wrote of a cross-encoder, or nothing
  bool softmax_ = false;
  bool settled_ = false;  // whether softmax_ is
  BySplit<Labels> labels_;
  std::vector<std::int64_t> ends_;    // of each record's rows, training split
  std::vector<std::int64_t> begins_;  // of examples, where a query is one; the end behind the last
};

}  // namespace weft::fine_tuning
