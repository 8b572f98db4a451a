// SPDX-License-Identifier: Apache-2.0
// Sums in trec_eval's order, from the first rank to the last.
#include "weft/metrics/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "weft/core/error.h"
#include "weft/metrics/sums.h"

namespace weft::metrics {
namespace {

constexpr std::size_t kDepth = 10;
constexpr std::array<std::size_t, 3> kRecallDepths = {1, 10, 100};

bool is_relevant(double relevance) { return relevance > 0; }

std::size_t relevant_among(std::span<const double> ranked) {
  return static_cast<std::size_t>(std::count_if(ranked.begin(), ranked.end(), is_relevant));
}

std::span<const double> first_ranks(std::span<const double> ranked, std::size_t depth) {
  require(depth > 0, "a ranking is judged to a depth of at least 1, found 0");
  return ranked.first(std::min(depth, ranked.size()));
}

double discounted(std::span<const double> ranked) {
  double sum = 0.0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (is_relevant(ranked[i])) {
      sum += ranked[i] / std::log2(static_cast<double>(i + 2));
    }
  }
  return sum;
}

}  // namespace

std::vector<RankedText> ranked(std::vector<RankedText> texts) {
  for (const RankedText& text : texts) {
    require(!std::isnan(text.score), "a score to rank by must be a number, found NaN");
    require(std::isfinite(text.relevance), "a relevance must be finite, found ", text.relevance);
  }
  std::stable_sort(texts.begin(), texts.end(), [](const RankedText& a, const RankedText& b) {
    return a.score > b.score || (a.score == b.score && a.id > b.id);
  });
  return texts;
}

std::vector<double> ranked_relevance(std::vector<RankedText> texts) {
  std::vector<double> relevance;
  relevance.reserve(texts.size());
  for (const RankedText& text : ranked(std::move(texts))) {
    relevance.push_back(text.relevance);
  }
  return relevance;
}

std::optional<double> ndcg(std::span<const double> ranked, std::size_t depth, std::span<const double> missed) {
  const std::span<const double> first = first_ranks(ranked, depth);
  if (relevant_among(ranked) + relevant_among(missed) == 0) {
    return std::nullopt;
  }
  std::vector<double> best(ranked.begin(), ranked.end());
  best.insert(best.end(), missed.begin(), missed.end());
  std::sort(best.begin(), best.end(), std::greater<>());
  return discounted(first) / discounted(first_ranks(best, depth));
}

std::optional<double> reciprocal_rank(std::span<const double> ranked, std::size_t depth,
                                      std::span<const double> missed) {
  const std::span<const double> first = first_ranks(ranked, depth);
  if (relevant_among(ranked) + relevant_among(missed) == 0) {
    return std::nullopt;
  }
  const auto found = std::find_if(first.begin(), first.end(), is_relevant);
  return found == first.end() ? 0.0 : 1.0 / static_cast<double>(found - first.begin() + 1);
}

std::optional<double> recall(std::span<const double> ranked, std::size_t depth, std::span<const double> missed) {
  const std::span<const double> first = first_ranks(ranked, depth);
  const std::size_t relevant = relevant_among(ranked) + relevant_among(missed);
  if (relevant == 0) {
    return std::nullopt;
  }
  return static_cast<double>(relevant_among(first)) / static_cast<double>(relevant);
}

std::optional<double> average_precision(std::span<const double> ranked, std::span<const double> missed) {
  double sum = 0.0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (is_relevant(ranked[i])) {
      ++found;
      sum += static_cast<double>(found) / static_cast<double>(i + 1);
    }
  }
  const std::size_t relevant = found + relevant_among(missed);
  return relevant == 0 ? std::nullopt : std::optional(sum / static_cast<double>(relevant));
}

void RankingAverage::add(std::span<const double> ranked, std::span<const double> missed) {
  const std::optional<double> precision = average_precision(ranked, missed);
  unanswered_ += precision ? 0 : 1;
  if (!precision && rule_ == Unanswered::kLeftOut) {
    return;
  }
  precision_.push_back(precision.value_or(0.0));
  ndcg_.push_back(ndcg(ranked, kDepth, missed).value_or(0.0));
  first_.push_back(reciprocal_rank(ranked, kDepth, missed).value_or(0.0));
  for (std::size_t i = 0; i < kRecallDepths.size(); ++i) {
    recall_[i].push_back(recall(ranked, kRecallDepths[i], missed).value_or(0.0));
  }
}

std::optional<RankingFigures> RankingAverage::figures() const {
  if (precision_.empty()) {
    return std::nullopt;
  }
  return RankingFigures{.ndcg_at_10 = mean(ndcg_),
                        .mrr_at_10 = mean(first_),
                        .map = mean(precision_),
                        .recall_at_1 = mean(recall_[0]),
                        .recall_at_10 = mean(recall_[1]),
                        .recall_at_100 = mean(recall_[2]),
                        .queries = precision_.size(),
                        .unanswered = unanswered_};
}

}  // namespace weft::metrics
