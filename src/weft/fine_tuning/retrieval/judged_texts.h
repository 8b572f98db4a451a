// SPDX-License-Identifier: Apache-2.0
// Held-out texts of an embedder, each once, and what people say of them: pairs with a score, and queries with the texts
// that answer them. Vectors in, figures out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/fine_tuning/retrieval/text_groups.h"
#include "weft/formats/config_json.h"

namespace weft::fine_tuning {

/// A text as a row of a model, and what it is to the records.
struct JudgedText {
  std::string text;
  bool is_query = false;
};

class JudgedTexts {
 public:
  /// The texts of a record that have no row yet, in the order of the rows that they are to have.
  std::vector<JudgedText> new_texts(const TextGroup& group) const;
  /// Takes a record in, whose new texts have rows now.
  void add(const TextGroup& group);
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(texts_.size()); }

  /// `vectors` has a vector for each text, one behind the other; of each only the first `width` numbers count where
  /// that is above 0. Where there are pairs with scores {"pearson", "spearman"} of their cosines; where there are
  /// queries
  /// {"ndcg_at_10", "mrr_at_10", "map", "recall_at_1", "recall_at_10", "recall_at_100"}: each query ranks by cosine all
  /// texts that are no queries, without those equal to it. An undefined figure is null.
  formats::Json figures(std::span<const double> vectors, std::int64_t width = 0) const;
  /// At most `most` of what is worst: pairs whose cosine and score differ most in rank, and queries whose text comes
  /// last. {"text", "question", "truth", "predicted"}.
  formats::Json errors(std::span<const double> vectors, std::size_t most) const;
  /// One line for each record: {"score", "truth"} of a pair, {"scores", "ranks"} of a query's texts.
  void predictions(std::span<const double> vectors, const std::function<void(const formats::Json&)>& write) const;
  /// A sentence where all pairs with different scores have one cosine, or all texts one vector.
  std::string doubt(std::span<const double> vectors) const;

 private:
  /// A record by the rows of its texts.
  struct Item {
    std::int64_t query = 0;
    std::vector<std::int64_t> positives;
    std::optional<double> score;
  };
  /// Where the texts that answer a record's query come, best first: texts by rank, without the query itself.
  struct Ranking {
    std::vector<std::int64_t> texts;
    std::vector<double> relevance;
  };

  std::optional<std::int64_t> find(const std::string& text, bool is_query) const;
  std::vector<const Item*> pairs() const;
  std::vector<std::int64_t> queries() const;
  void visit_rankings(std::span<const double> vectors, std::int64_t width,
                      const std::function<void(std::int64_t query, const Ranking& ranking)>& visit) const;
  double cosine(std::span<const double> vectors, std::int64_t width, std::int64_t a, std::int64_t b) const;
  std::vector<double> cosines_of_pairs(std::span<const double> vectors, std::int64_t width) const;
  std::vector<double> scores_of_pairs() const;

  std::vector<JudgedText> texts_;
  std::vector<std::string> ids_;  // of texts: their numbers with zeros before them, so that bytes compare as numbers
  std::unordered_map<std::string, std::int64_t> rows_;
  std::vector<Item> items_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> relevant_;  // by query
};

}  // namespace weft::fine_tuning
