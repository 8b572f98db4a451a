// SPDX-License-Identifier: Apache-2.0
// Counts are whole numbers; the figure is computed in sacrebleu's order, in float64 for the corpus and in float32 for
// resamples, as NumPy 2 computes it there.
#include "weft/metrics/translation/chrf.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/metrics/translation/code_points.h"
#include "weft/metrics/translation/gram_counts.h"

namespace weft::metrics {
namespace {

constexpr std::size_t kCountsOfOrder = 3;  // of the hypothesis, of the reference, of both

template <typename Real, typename Count>
Real f_score(std::span<const Count> counts, const ChrfOptions& options) {
  constexpr Real kEpsilon = static_cast<Real>(1e-16);
  const auto factor = static_cast<Real>(options.beta * options.beta);
  Real sum = 0;
  Real precision_sum = 0;
  Real recall_sum = 0;
  Real orders = 0;
  for (std::size_t i = 0; i < counts.size(); i += kCountsOfOrder) {
    const auto hypothesis = static_cast<Real>(counts[i]);
    const auto reference = static_cast<Real>(counts[i + 1]);
    const auto matches = static_cast<Real>(counts[i + 2]);
    const Real precision = hypothesis > 0 ? matches / hypothesis : kEpsilon;
    const Real recall = reference > 0 ? matches / reference : kEpsilon;
    const Real denominator = factor * precision + recall;
    sum += denominator > 0 ? (1 + factor) * precision * recall / denominator : kEpsilon;
    if (hypothesis > 0 && reference > 0) {
      precision_sum += precision;
      recall_sum += recall;
      orders += 1;
    }
  }
  if (options.epsilon_smoothing) {
    const std::size_t all_orders = counts.size() / kCountsOfOrder;
    return 100 * sum / static_cast<Real>(all_orders);
  }
  const Real precision = orders > 0 ? precision_sum / orders : 0;
  const Real recall = orders > 0 ? recall_sum / orders : 0;
  if (precision + recall == 0) {
    return 0;
  }
  Real score = (1 + factor) * precision * recall;
  score /= factor * precision + recall;
  return 100 * score;
}

bool is_mark(char byte) noexcept {
  constexpr std::string_view kMarks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return kMarks.find(byte) != std::string_view::npos;
}

// Words with one mark of ASCII's punctuation cut off: behind the word, or, where none is there, before it.
std::vector<std::string_view> words_without_marks(std::string_view text) {
  std::vector<std::string_view> result;
  for (const std::string_view word : words_of(text)) {
    const bool longer = first_letter(word).bytes < word.size();
    if (longer && is_mark(word.back())) {
      result.push_back(word.substr(0, word.size() - 1));
      result.push_back(word.substr(word.size() - 1));
    } else if (longer && is_mark(word.front())) {
      result.push_back(word.substr(0, 1));
      result.push_back(word.substr(1));
    } else {
      result.push_back(word);
    }
  }
  return result;
}

Symbols characters_of(std::string_view text, bool whitespace) {
  Symbols symbols;
  for (const char32_t letter : code_points(text)) {
    if (whitespace || !is_blank(letter)) {
      symbols.push_back(letter);
    }
  }
  return symbols;
}

}  // namespace

ChrfScorer::ChrfScorer(const ChrfOptions& options) : options_(options) { check_fields(options_, "chrF"); }

void ChrfScorer::add(std::string_view hypothesis, std::span<const std::string> references) {
  require(!references.empty(), "chrF needs a reference for every sentence, found none");
  std::vector<std::string> texts = {std::string(hypothesis)};
  texts.insert(texts.end(), references.begin(), references.end());
  SymbolTable table;
  std::vector<Symbols> characters;
  std::vector<Symbols> words;
  for (std::string& text : texts) {
    text = options_.lowercase ? lower_case(text) : text;
    characters.push_back(characters_of(text, options_.whitespace));
    words.push_back(table.number(words_without_marks(text)));
  }
  std::vector<std::vector<GramCounts>> grams = count_grams(characters, options_.character_order);
  const std::vector<std::vector<GramCounts>> of_words = count_grams(words, options_.word_order);
  grams.insert(grams.end(), of_words.begin(), of_words.end());
  std::vector<std::int64_t> best;
  double best_score = -1;
  for (std::size_t reference = 1; reference < texts.size(); ++reference) {
    std::vector<std::int64_t> counts;
    for (const std::vector<GramCounts>& order : grams) {
      const std::int64_t total = order[reference].total;
      counts.insert(counts.end(), {total > 0 ? order[0].total : 0, total, common_grams(order[0], order[reference])});
    }
    const double score = f_score<double>(std::span<const std::int64_t>(counts), options_);
    if (score > best_score) {
      best_score = score;
      best = std::move(counts);
    }
  }
  statistics_.add(best);
  references_.add(references.size());
}

double ChrfScorer::score() const {
  const std::vector<std::int64_t> sums = statistics_.sum();
  return f_score<double>(std::span<const std::int64_t>(sums), options_);
}

BootstrapInterval ChrfScorer::interval(std::int64_t samples) const {
  std::vector<double> figures;
  statistics_.resample(samples,
                       [&](std::span<const float> sums) { figures.push_back(f_score<float>(sums, options_)); });
  return interval_of(std::move(figures));
}

std::string ChrfScorer::name() const {
  return concat("chrF", options_.beta, std::string(static_cast<std::size_t>(options_.word_order), '+'));
}

std::string ChrfScorer::signature(std::int64_t samples) const {
  return concat(signature_head(references_, samples), "|case:", options_.lowercase ? "lc" : "mixed",
                "|eff:", options_.epsilon_smoothing ? "no" : "yes", "|nc:", options_.character_order,
                "|nw:", options_.word_order, "|space:", options_.whitespace ? "yes" : "no",
                "|version:", kSacrebleuVersion);
}

}  // namespace weft::metrics
