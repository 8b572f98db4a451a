// SPDX-License-Identifier: Apache-2.0
// Cosines in float64. Rankings are those of metrics/ranking.h, a text's number being its id.
#include "weft/fine_tuning/retrieval/judged_texts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "weft/core/error.h"
#include "weft/fine_tuning/review.h"
#include "weft/metrics/correlation.h"
#include "weft/metrics/ranking.h"

namespace weft::fine_tuning {
namespace {

using formats::Json;

// A query and a text with the same letters are two rows: their prompts may differ.
std::string row_key(const std::string& text, bool is_query) { return (is_query ? "q" : "t") + text; }

std::string text_id(std::size_t number) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%012zu", number);
  return digits;
}

// float64 [texts, width], each of length 1, or 0 where it was 0.
at::Tensor unit_rows(std::span<const double> vectors, std::int64_t texts, std::int64_t width) {
  const std::int64_t whole = std::ssize(vectors) / texts;
  // LibTorch takes no const memory; it is only read.
  const at::Tensor all = at::from_blob(const_cast<double*>(vectors.data()), {texts, whole}, at::kDouble);
  const at::Tensor cut = width > 0 ? all.narrow(1, 0, width) : all;
  return cut / cut.norm(2, {1}, true).clamp_min(1e-12);
}

}  // namespace

std::optional<std::int64_t> JudgedTexts::find(const std::string& text, bool is_query) const {
  const auto found = rows_.find(row_key(text, is_query));
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<JudgedText> JudgedTexts::new_texts(const TextGroup& group) const {
  std::vector<JudgedText> fresh;
  const auto offer = [&](const std::string& text, bool is_query) {
    const bool is_there = find(text, is_query) || std::any_of(fresh.begin(), fresh.end(), [&](const JudgedText& one) {
                            return one.is_query == is_query && one.text == text;
                          });
    if (!is_there) {
      fresh.push_back({text, is_query});
    }
  };
  offer(group.query, true);
  for (const std::vector<std::string>* texts : {&group.positives, &group.negatives}) {
    for (const std::string& text : *texts) {
      offer(text, false);
    }
  }
  return fresh;
}

void JudgedTexts::add(const TextGroup& group) {
  for (JudgedText& text : new_texts(group)) {
    rows_.emplace(row_key(text.text, text.is_query), size());
    ids_.push_back(text_id(texts_.size()));
    texts_.push_back(std::move(text));
  }
  Item item;
  item.query = find(group.query, true).value();
  item.positives.reserve(group.positives.size());
  for (const std::string& text : group.positives) {
    item.positives.push_back(find(text, false).value());
  }
  item.score = group.score;
  if (!item.score) {
    std::vector<std::int64_t>& relevant = relevant_[item.query];
    relevant.insert(relevant.end(), item.positives.begin(), item.positives.end());
  }
  items_.push_back(std::move(item));
}

std::vector<const JudgedTexts::Item*> JudgedTexts::pairs() const {
  std::vector<const Item*> pairs;
  for (const Item& item : items_) {
    if (item.score) {
      pairs.push_back(&item);
    }
  }
  return pairs;
}

// In the order of their rows.
std::vector<std::int64_t> JudgedTexts::queries() const {
  std::vector<std::int64_t> queries;
  queries.reserve(relevant_.size());
  for (const auto& [query, texts] : relevant_) {
    queries.push_back(query);
  }
  std::sort(queries.begin(), queries.end());
  return queries;
}

double JudgedTexts::cosine(std::span<const double> vectors, std::int64_t width, std::int64_t a, std::int64_t b) const {
  const std::size_t whole = vectors.size() / texts_.size();
  const std::size_t used = width > 0 ? static_cast<std::size_t>(width) : whole;
  const auto first = vectors.subspan(static_cast<std::size_t>(a) * whole, used);
  const auto second = vectors.subspan(static_cast<std::size_t>(b) * whole, used);
  double product = 0.0;
  double first_square = 0.0;
  double second_square = 0.0;
  for (std::size_t i = 0; i < used; ++i) {
    product += first[i] * second[i];
    first_square += first[i] * first[i];
    second_square += second[i] * second[i];
  }
  const double lengths = std::sqrt(first_square) * std::sqrt(second_square);
  return lengths > 0.0 ? std::clamp(product / lengths, -1.0, 1.0) : 0.0;
}

std::vector<double> JudgedTexts::cosines_of_pairs(std::span<const double> vectors, std::int64_t width) const {
  const std::vector<const Item*> all = pairs();
  std::vector<double> cosines;
  cosines.reserve(all.size());
  for (const Item* pair : all) {
    cosines.push_back(cosine(vectors, width, pair->query, pair->positives.front()));
  }
  return cosines;
}

std::vector<double> JudgedTexts::scores_of_pairs() const {
  const std::vector<const Item*> all = pairs();
  std::vector<double> scores;
  scores.reserve(all.size());
  for (const Item* pair : all) {
    scores.push_back(*pair->score);
  }
  return scores;
}

void JudgedTexts::visit_rankings(std::span<const double> vectors, std::int64_t width,
                                 const std::function<void(std::int64_t query, const Ranking& ranking)>& visit) const {
  const at::Tensor unit = unit_rows(vectors, size(), width);
  for (const std::int64_t query : queries()) {
    const at::Tensor cosines = unit.mv(unit.select(0, query));
    const double* const cosine_of = cosines.data_ptr<double>();
    const std::vector<std::int64_t>& relevant = relevant_.at(query);
    std::vector<metrics::RankedText> texts;
    for (std::size_t text = 0; text < texts_.size(); ++text) {
      if (texts_[text].is_query || texts_[text].text == texts_[static_cast<std::size_t>(query)].text) {
        continue;
      }
      const bool answers =
          std::find(relevant.begin(), relevant.end(), static_cast<std::int64_t>(text)) != relevant.end();
      texts.push_back({cosine_of[text], answers ? 1.0 : 0.0, ids_[text]});
    }
    Ranking ranking;
    for (const metrics::RankedText& text : metrics::ranked(std::move(texts))) {
      ranking.texts.push_back(std::stoll(std::string(text.id)));
      ranking.relevance.push_back(text.relevance);
    }
    visit(query, ranking);
  }
}

Json JudgedTexts::figures(std::span<const double> vectors, std::int64_t width) const {
  Json figures = Json::object();
  if (const std::vector<double> scores = scores_of_pairs(); !scores.empty()) {
    const std::vector<double> cosines = cosines_of_pairs(vectors, width);
    figures["pearson"] = formats::or_null(metrics::pearson(scores, cosines));
    figures["spearman"] = formats::or_null(metrics::spearman(scores, cosines));
  }
  if (!relevant_.empty()) {
    metrics::RankingAverage average(metrics::Unanswered::kLeftOut);
    visit_rankings(vectors, width, [&](std::int64_t /*query*/, const Ranking& one) { average.add(one.relevance); });
    const std::optional<metrics::RankingFigures> found = average.figures();
    for (const metrics::RankingFigure& figure : metrics::kRankingFigures) {
      figures[figure.name] = found ? Json((*found).*figure.value) : Json(nullptr);
    }
  }
  return figures;
}

Json JudgedTexts::errors(std::span<const double> vectors, std::size_t most) const {
  Json errors = Json::array();
  const auto text_of = [&](std::int64_t row) { return shortened(texts_[static_cast<std::size_t>(row)].text); };
  const std::vector<const Item*> all = pairs();
  const std::vector<double> cosines = cosines_of_pairs(vectors, 0);
  const std::vector<double> truth = metrics::average_ranks(scores_of_pairs());
  const std::vector<double> found = metrics::average_ranks(cosines);
  std::vector<double> distances;
  distances.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    distances.push_back(std::abs(truth[i] - found[i]));
  }
  for (const std::size_t i : largest(distances, most)) {
    if (distances[i] > 0) {
      errors.push_back({{"question", text_of(all[i]->query)},
                        {"text", text_of(all[i]->positives.front())},
                        {"truth", *all[i]->score},
                        {"predicted", cosines[i]}});
    }
  }
  std::vector<std::pair<std::size_t, Json>> misses;  // the rank of the first text that answers
  if (!relevant_.empty()) {
    visit_rankings(vectors, 0, [&](std::int64_t query, const Ranking& one) {
      const auto first = std::find(one.relevance.begin(), one.relevance.end(), 1.0) - one.relevance.begin();
      const auto rank = static_cast<std::size_t>(first);
      if (rank > 0 && rank < one.texts.size()) {
        misses.emplace_back(rank, Json{{"text", text_of(query)},
                                       {"truth", concat("rank ", rank + 1, ": ", text_of(one.texts[rank]))},
                                       {"predicted", text_of(one.texts.front())}});
      }
    });
  }
  std::stable_sort(misses.begin(), misses.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [rank, error] : misses) {
    if (errors.size() < most) {
      errors.push_back(error);
    }
  }
  return errors;
}

void JudgedTexts::predictions(std::span<const double> vectors, const std::function<void(const Json&)>& write) const {
  std::unordered_map<std::int64_t, std::unordered_map<std::int64_t, std::int64_t>> ranks;  // of relevant texts
  if (!relevant_.empty()) {
    visit_rankings(vectors, 0, [&](std::int64_t query, const Ranking& one) {
      for (std::size_t i = 0; i < one.texts.size(); ++i) {
        if (one.relevance[i] > 0) {
          ranks[query][one.texts[i]] = static_cast<std::int64_t>(i) + 1;
        }
      }
    });
  }
  for (const Item& item : items_) {
    if (item.score) {
      write({{"score", cosine(vectors, 0, item.query, item.positives.front())}, {"truth", *item.score}});
      continue;
    }
    Json scores = Json::array();
    Json places = Json::array();
    for (const std::int64_t text : item.positives) {
      scores.push_back(cosine(vectors, 0, item.query, text));
      const auto found = ranks[item.query].find(text);
      places.push_back(found == ranks[item.query].end() ? Json(nullptr) : Json(found->second));
    }
    write({{"scores", scores}, {"ranks", places}});
  }
}

std::string JudgedTexts::doubt(std::span<const double> vectors) const {
  constexpr double kSame = 1e-6;  // float32 tells cosines apart by a part in 10 million
  const std::vector<double> cosines = cosines_of_pairs(vectors, 0);
  if (cosines.size() > 1) {
    const auto [least, most] = std::minmax_element(cosines.begin(), cosines.end());
    const std::vector<double> scores = scores_of_pairs();
    const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
    return *most - *least <= kSame && *high > *low
               ? concat("the model gives the cosine ", *least, " for each of the ", cosines.size(),
                        " held-out pairs, whose scores go from ", *low, " to ", *high, kMore)
               : std::string();
  }
  for (std::int64_t text = 1; text < size(); ++text) {
    if (cosine(vectors, 0, 0, text) < 1.0 - kSame) {
      return {};
    }
  }
  return size() > 2 ? concat("the model gives each of the ", size(), " held-out texts the same vector", kMore)
                    : std::string();
}

}  // namespace weft::fine_tuning
