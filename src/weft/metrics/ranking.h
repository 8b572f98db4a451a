// SPDX-License-Identifier: Apache-2.0
// How well texts are ranked for a query: nDCG, reciprocal rank, recall and average precision, as trec_eval has them
// (ndcg_cut, recip_rank, recall, map).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weft::metrics {

/// A text that was ranked for a query. Relevant is what has a relevance above 0; 0 is for what is not relevant and for
/// what nobody judged.
struct RankedText {
  double score = 0.0;
  double relevance = 0.0;
  std::string_view id;
};

/// The texts in the order of their rank: scores descending, and of equal scores the ids descending by their bytes, as
/// trec_eval has it. Errors: kArgument for a score that is NaN or a relevance that is not finite.
std::vector<RankedText> ranked(std::vector<RankedText> texts);
/// Their relevances in this order.
std::vector<double> ranked_relevance(std::vector<RankedText> texts);

// Of one query: relevances in the order of rank, and of the texts that were judged and not ranked (`missed`), which are
// behind all ranks. Nothing where no text is relevant. Errors: kArgument for a depth of 0.

/// The sum of relevance / log2(rank + 1) over the first `depth` ranks, divided by that of the best order.
std::optional<double> ndcg(std::span<const double> ranked, std::size_t depth, std::span<const double> missed = {});
/// 1 / rank of the first relevant text, 0 where it is below `depth`.
std::optional<double> reciprocal_rank(std::span<const double> ranked, std::size_t depth,
                                      std::span<const double> missed = {});
/// The part of the relevant texts that the first `depth` ranks hold.
std::optional<double> recall(std::span<const double> ranked, std::size_t depth, std::span<const double> missed = {});
/// The mean over the relevant texts of the precision at their ranks, 0 for those that were missed.
std::optional<double> average_precision(std::span<const double> ranked, std::span<const double> missed = {});

/// Means over queries, in NumPy's order of sums (sums.h).
struct RankingFigures {
  double ndcg_at_10 = 0.0;
  double mrr_at_10 = 0.0;
  double map = 0.0;
  double recall_at_1 = 0.0;
  double recall_at_10 = 0.0;
  double recall_at_100 = 0.0;
  std::size_t queries = 0;     ///< that were averaged
  std::size_t unanswered = 0;  ///< that have no relevant text
};

/// A figure by its names, and how many ranks it looks at; 0: all.
struct RankingFigure {
  const char* name;   ///< in JSON
  const char* label;  ///< for people
  std::size_t depth;
  double RankingFigures::* value;
};
inline constexpr std::array<RankingFigure, 6> kRankingFigures = {
    {{"ndcg_at_10", "nDCG@10", 10, &RankingFigures::ndcg_at_10},
     {"mrr_at_10", "MRR@10", 10, &RankingFigures::mrr_at_10},
     {"map", "MAP", 0, &RankingFigures::map},
     {"recall_at_1", "recall@1", 1, &RankingFigures::recall_at_1},
     {"recall_at_10", "recall@10", 10, &RankingFigures::recall_at_10},
     {"recall_at_100", "recall@100", 100, &RankingFigures::recall_at_100}}};

/// What a query without a relevant text adds: zeros, as trec_eval has it, or nothing, as sentence-transformers has it.
enum class Unanswered : std::uint8_t { kZero, kLeftOut };

/// Takes one query after another.
class RankingAverage {
 public:
  explicit RankingAverage(Unanswered rule) : rule_(rule) {}

  /// `ranked` and `missed` as above.
  void add(std::span<const double> ranked, std::span<const double> missed = {});
  /// Nothing where no query counts.
  std::optional<RankingFigures> figures() const;

 private:
  Unanswered rule_;
  std::vector<double> ndcg_;
  std::vector<double> first_;
  std::vector<double> precision_;
  std::vector<double> recall_[3];
  std::size_t unanswered_ = 0;
};

}  // namespace weft::metrics
