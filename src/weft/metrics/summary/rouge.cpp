// SPDX-License-Identifier: Apache-2.0
// Counts are whole numbers; a figure is divided once, in rouge_score's order.
#include "weft/metrics/summary/rouge.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>

#include "weft/core/error.h"
#include "weft/metrics/summary/common_subsequence.h"
#include "weft/metrics/summary/porter_stemmer.h"

namespace weft::metrics {
namespace {

RougeFigure figure_of(std::int64_t hits, std::int64_t reference, std::int64_t summary) {
  RougeFigure figure;
  figure.precision = static_cast<double>(hits) / static_cast<double>(std::max<std::int64_t>(summary, 1));
  figure.recall = static_cast<double>(hits) / static_cast<double>(std::max<std::int64_t>(reference, 1));
  const double sum = figure.precision + figure.recall;
  figure.f1 = sum > 0 ? 2 * figure.precision * figure.recall / sum : 0.0;
  return figure;
}

Symbols numbered(SymbolTable& table, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return table.number(views);
}

// ROUGE-1 and ROUGE-2 of a reference and a summary.
std::array<RougeFigure, 2> figures_of_grams(const std::array<Symbols, 2>& texts) {
  const std::vector<std::vector<GramCounts>> grams = count_grams(texts, 2);
  std::array<RougeFigure, 2> figures;
  for (std::size_t order = 0; order < 2; ++order) {
    const std::vector<GramCounts>& counts = grams[order];
    figures[order] = figure_of(common_grams(counts[0], counts[1]), counts[0].total, counts[1].total);
  }
  return figures;
}

// Sentences of a text: its lines. Their words live as long as this does.
struct Sentences {
  std::vector<std::vector<std::string>> words;

  Sentences(std::string_view text, bool stemmer) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) {
        words.push_back(rouge_words(text.substr(0, end), stemmer));
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::vector<Symbols> numbers(SymbolTable& table) const {
    std::vector<Symbols> result;
    result.reserve(words.size());
    for (const std::vector<std::string>& sentence : words) {
      result.push_back(numbered(table, sentence));
    }
    return result;
  }
};

std::int64_t total_of(const std::vector<Symbols>& sentences) {
  return std::accumulate(sentences.begin(), sentences.end(), std::int64_t{0}, [](std::int64_t sum, const Symbols& one) {
    return sum + static_cast<std::int64_t>(one.size());
  });
}

std::map<std::uint32_t, std::int64_t> counts_of(const std::vector<Symbols>& sentences) {
  std::map<std::uint32_t, std::int64_t> counts;
  for (const Symbols& sentence : sentences) {
    for (const std::uint32_t word : sentence) {
      ++counts[word];
    }
  }
  return counts;
}

// For each sentence of the reference, the words that stand in its common subsequence with any sentence of the summary;
// a word counts as often as both texts have it.
RougeFigure summary_level(std::string_view reference, std::string_view summary, bool stemmer) {
  const Sentences reference_sentences(reference, stemmer);
  const Sentences summary_sentences(summary, stemmer);
  SymbolTable table;
  const std::vector<Symbols> references = reference_sentences.numbers(table);
  const std::vector<Symbols> summaries = summary_sentences.numbers(table);
  std::map<std::uint32_t, std::int64_t> left_in_reference = counts_of(references);
  std::map<std::uint32_t, std::int64_t> left_in_summary = counts_of(summaries);
  std::int64_t hits = 0;
  for (const Symbols& sentence : references) {
    std::set<std::size_t> places;
    for (const Symbols& other : summaries) {
      const std::vector<std::size_t> found = common_subsequence(sentence, other);
      places.insert(found.begin(), found.end());
    }
    for (const std::size_t place : places) {
      std::int64_t& first = left_in_reference[sentence[place]];
      std::int64_t& second = left_in_summary[sentence[place]];
      if (first > 0 && second > 0) {
        ++hits;
        --first;
        --second;
      }
    }
  }
  return figure_of(hits, total_of(references), total_of(summaries));
}

}  // namespace

std::vector<std::string> rouge_words(std::string_view text, bool stemmer) {
  constexpr std::size_t kShortWord = 3;
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (stemmer && word.size() > kShortWord) {
      word = porter_stem(word);
    }
    if (!word.empty()) {
      words.push_back(word);
    }
    word.clear();
  };
  // Of all letters outside of ASCII, only two have lower case in it: the sign of kelvin, and I with a dot, which
  // becomes an i and a dot that ends the word.
  constexpr std::string_view kKelvin = "\u212A";
  constexpr std::string_view kDottedI = "\u0130";
  while (!text.empty()) {
    const char byte = text.front();
    const bool upper = byte >= 'A' && byte <= 'Z';
    if (upper || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9')) {
      word += static_cast<char>(upper ? byte - 'A' + 'a' : byte);
      text.remove_prefix(1);
    } else if (text.starts_with(kKelvin)) {
      word += 'k';
      text.remove_prefix(kKelvin.size());
    } else if (text.starts_with(kDottedI)) {
      word += 'i';
      end();
      text.remove_prefix(kDottedI.size());
    } else {
      end();
      text.remove_prefix(1);
    }
  }
  end();
  return words;
}

std::array<RougeFigure, 2> rouge_n(const std::vector<std::string>& reference, const std::vector<std::string>& summary) {
  SymbolTable table;
  return figures_of_grams({numbered(table, reference), numbered(table, summary)});
}

RougeScore rouge(std::string_view reference, std::string_view summary, bool stemmer) {
  const std::vector<std::string> reference_words = rouge_words(reference, stemmer);
  const std::vector<std::string> summary_words = rouge_words(summary, stemmer);
  SymbolTable table;
  const std::array<Symbols, 2> texts = {numbered(table, reference_words), numbered(table, summary_words)};
  RougeScore score;
  std::ranges::copy(figures_of_grams(texts), score.begin());
  score[2] = figure_of(common_subsequence_length(texts[0], texts[1]), std::ssize(texts[0]), std::ssize(texts[1]));
  score[3] = summary_level(reference, summary, stemmer);
  return score;
}

void RougeScorer::add(std::string_view summary, std::span<const std::string> references) {
  require(!references.empty(), "ROUGE needs a reference for every summary, found none");
  RougeScore best = rouge(references.front(), summary, stemmer_);
  for (const std::string& reference : references.subspan(1)) {
    const RougeScore score = rouge(reference, summary, stemmer_);
    for (std::size_t kind = 0; kind < score.size(); ++kind) {
      best[kind] = score[kind].f1 > best[kind].f1 ? score[kind] : best[kind];
    }
  }
  scores_.push_back(best);
  std::for_each(references.begin(), references.end(), [&](const std::string& reference) { reach_.look_at(reference); });
}

void RougeReach::look_at(std::string_view reference) {
  std::int64_t counted = 0;
  std::int64_t passed_over = 0;
  for (std::size_t at = 0; at < reference.size(); ++at) {
    const auto byte = static_cast<unsigned char>(reference[at]);
    const auto next = static_cast<unsigned char>(at + 1 < reference.size() ? reference[at + 1] : 0);
    // Dashes and quotes (U+2000 to U+207F, U+3000 to U+303F) are no letters; a sequence counts by its first byte.
    const bool sign = (byte == 0xE2 && next <= 0x81) || (byte == 0xE3 && next == 0x80);
    counted += std::isalnum(byte) != 0 && byte < 0x80 ? 1 : 0;
    passed_over += byte >= 0xC3 && !sign ? 1 : 0;
  }
  ++references_;
  wordless_ += counted == 0 && passed_over > 0 ? 1 : 0;
  counted_ += counted;
  passed_over_ += passed_over;
}

void RougeReach::add(const RougeReach& other) {
  references_ += other.references_;
  wordless_ += other.wordless_;
  counted_ += other.counted_;
  passed_over_ += other.passed_over_;
}

std::string RougeReach::remark() const {
  constexpr std::int64_t kPercent = 100;
  constexpr std::int64_t kMuch = 20;
  const std::int64_t part = kPercent * passed_over_ / std::max<std::int64_t>(1, counted_ + passed_over_);
  if (wordless_ == 0 && part < kMuch) {
    return {};
  }
  return concat("ROUGE counts words of a-z and 0-9 alone, as rouge_score does: it passes over ", part,
                "% of the letters of the references, and ", wordless_, " of ", references_,
                " hold no word that it counts; chrF compares texts in any script");
}

RougeScore RougeScorer::mean() const {
  require(!scores_.empty(), "ROUGE needs at least one summary, found none");
  RougeScore mean;
  for (const RougeScore& score : scores_) {
    for (std::size_t kind = 0; kind < score.size(); ++kind) {
      mean[kind].precision += score[kind].precision;
      mean[kind].recall += score[kind].recall;
      mean[kind].f1 += score[kind].f1;
    }
  }
  const auto count = static_cast<double>(scores_.size());
  for (RougeFigure& figure : mean) {
    figure = {figure.precision / count, figure.recall / count, figure.f1 / count};
  }
  return mean;
}

std::vector<BootstrapInterval> RougeScorer::intervals(std::int64_t samples) const {
  require(!scores_.empty(), "ROUGE needs at least one summary, found none");
  NumpyRandom random(kBootstrapSeed);
  std::array<std::vector<double>, kRougeNames.size()> figures;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::array<double, kRougeNames.size()> sums{};
    for (std::size_t draw = 0; draw < scores_.size(); ++draw) {
      const RougeScore& score = scores_[random.below(static_cast<std::uint32_t>(scores_.size()))];
      for (std::size_t kind = 0; kind < sums.size(); ++kind) {
        sums[kind] += score[kind].f1;
      }
    }
    for (std::size_t kind = 0; kind < sums.size(); ++kind) {
      figures[kind].push_back(sums[kind] / static_cast<double>(scores_.size()));
    }
  }
  std::vector<BootstrapInterval> result;
  result.reserve(figures.size());
  for (const std::vector<double>& kind : figures) {
    result.push_back(interval_of(kind));
  }
  return result;
}

}  // namespace weft::metrics
