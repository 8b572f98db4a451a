// SPDX-License-Identifier: Apache-2.0
// N-grams are numbered in the order in which the source has them, so that sums run as in the program.
#include "weft/metrics/simplification/sari.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/metrics/open_answers/word_overlap.h"
#include "weft/metrics/translation/code_points.h"
#include "weft/metrics/translation/gram_counts.h"

namespace weft::metrics {
namespace {

constexpr std::int64_t kLongestGram = 4;

std::string_view without_blanks_behind(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  return words.empty() ? std::string_view() : text.substr(0, words.back().data() + words.back().size() - text.data());
}

// Between single blanks; two of them have an empty word between.
std::vector<std::string_view> words_between_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// How often one n-gram stands in the source and in the simplified text, times the references, and in all references.
struct GramUse {
  std::int64_t source = 0;
  std::int64_t simplified = 0;
  std::int64_t references = 0;
};

std::vector<GramUse> gram_uses(std::span<const GramCounts> texts) {
  std::size_t grams = 0;
  for (const GramCounts& text : texts) {
    grams = std::max(grams, text.counts.size());
  }
  const auto references = static_cast<std::int64_t>(texts.size()) - 2;
  std::vector<GramUse> uses(grams);
  for (std::size_t gram = 0; gram < grams; ++gram) {
    uses[gram] = {texts[0].of(gram) * references, texts[1].of(gram) * references, 0};
    for (const GramCounts& text : texts.subspan(2)) {
      uses[gram].references += text.of(gram);
    }
  }
  return uses;
}

double gram_ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

double mean_of(double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0.0; }

double keep_score(std::span<const GramUse> uses) {
  double precision = 0;
  double recall = 0;
  std::int64_t kept = 0;
  std::int64_t to_keep = 0;
  for (const GramUse& use : uses) {
    const std::int64_t keep = std::min(use.source, use.simplified);
    const std::int64_t wanted = std::min(use.source, use.references);
    const std::int64_t good = std::min(keep, use.references);
    kept += keep > 0 ? 1 : 0;
    to_keep += wanted > 0 ? 1 : 0;
    precision += good > 0 ? gram_ratio(good, keep) : 0.0;
    recall += good > 0 ? gram_ratio(good, wanted) : 0.0;
  }
  return f1_of(mean_of(precision, kept), mean_of(recall, to_keep));
}

double deletion_score(std::span<const GramUse> uses) {
  double precision = 0;
  std::int64_t deleted = 0;
  for (const GramUse& use : uses) {
    const std::int64_t gone = std::max(use.source - use.simplified, std::int64_t{0});
    const std::int64_t good = std::max(gone - use.references, std::int64_t{0});
    deleted += gone > 0 ? 1 : 0;
    precision += good > 0 ? gram_ratio(good, gone) : 0.0;
  }
  return mean_of(precision, deleted);
}

double addition_score(std::span<const GramUse> uses) {
  std::int64_t added = 0;
  std::int64_t to_add = 0;
  std::int64_t good = 0;
  for (const GramUse& use : uses) {
    if (use.source == 0) {
      added += use.simplified > 0 ? 1 : 0;
      to_add += use.references > 0 ? 1 : 0;
      good += use.simplified > 0 && use.references > 0 ? 1 : 0;
    }
  }
  return f1_of(added > 0 ? gram_ratio(good, added) : 0.0, to_add > 0 ? gram_ratio(good, to_add) : 0.0);
}

}  // namespace

SariScore sari(std::string_view source, std::string_view simplified, std::span<const std::string> references) {
  require(!references.empty(), "SARI needs at least one reference, found none");
  std::vector<std::string> texts;
  texts.reserve(references.size() + 2);
  texts.push_back(lower_case(without_blanks_behind(source)));
  texts.push_back(lower_case(without_blanks_behind(simplified)));
  for (const std::string& reference : references) {
    texts.push_back(lower_case(without_blanks_behind(reference)));
  }
  SymbolTable table;
  std::vector<Symbols> symbols;
  symbols.reserve(texts.size());
  for (const std::string& text : texts) {
    symbols.push_back(table.number(words_between_blanks(text)));
  }
  SariScore sum;
  for (const std::vector<GramCounts>& grams : count_grams(symbols, kLongestGram)) {
    const std::vector<GramUse> uses = gram_uses(grams);
    sum.keep += keep_score(uses);
    sum.deletion += deletion_score(uses);
    sum.addition += addition_score(uses);
  }
  constexpr auto kOrders = static_cast<double>(kLongestGram);
  return {sum.keep / kOrders, sum.deletion / kOrders, sum.addition / kOrders};
}

void SariScorer::add(std::string_view simplified, std::string_view source, std::span<const std::string> references) {
  const SariScore score = sari(source, simplified, references);
  ++texts_;
  sum_ += score.mean();
  sums_.keep += score.keep;
  sums_.deletion += score.deletion;
  sums_.addition += score.addition;
}

double SariScorer::score() const {
  require(texts_ > 0, "a score needs at least one text, found none");
  return sum_ / static_cast<double>(texts_);
}

SariScore SariScorer::parts() const {
  require(texts_ > 0, "a score needs at least one text, found none");
  const auto count = static_cast<double>(texts_);
  return {sums_.keep / count, sums_.deletion / count, sums_.addition / count};
}

}  // namespace weft::metrics
