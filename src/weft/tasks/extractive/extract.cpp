// SPDX-License-Identifier: Apache-2.0
// A method gives an order of sentences; limits cut it, and what is left goes back into the text's order.
#include "weft/tasks/extractive/extract.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/random.h"
#include "weft/metrics/summary/plain_words.h"
#include "weft/metrics/summary/rouge.h"
#include "weft/metrics/translation/code_points.h"
#include "weft/tasks/extractive/rankings.h"
#include "weft/text/utf8.h"

namespace weft::tasks {
namespace {

using SentenceOrder = std::vector<std::size_t>;

// A sentence that goes over lines, with a blank for each line end and the blanks around it.
std::string in_one_line(std::string_view sentence) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  std::string line;
  while (true) {
    const std::size_t end = sentence.find_first_of("\r\n");
    const std::string_view part = sentence.substr(0, end);
    line += part.substr(0, end == std::string_view::npos ? end : part.find_last_not_of(kBlanks) + 1);
    if (end == std::string_view::npos) {
      return line;
    }
    line += ' ';
    sentence.remove_prefix(std::min(sentence.find_first_not_of(kBlanks, end), sentence.size()));
  }
}

std::string joined_sentences(const SentenceTerms& terms, const std::string& text, SentenceOrder chosen) {
  std::sort(chosen.begin(), chosen.end());
  return joined(chosen, " ", [&](std::size_t sentence) { return in_one_line(terms.places[sentence].in(text)); });
}

SentenceOrder lead_order(const SentenceTerms& terms) {
  SentenceOrder order(terms.sentences());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// The same for a text and a seed, whatever is read with it.
SentenceOrder random_order(const SentenceTerms& terms, const std::string& text, std::int64_t seed) {
  std::uint64_t name = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char byte : text) {
    name = (name ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
  }
  SentenceOrder order = lead_order(terms);
  for (std::size_t left = order.size(); left > 1; --left) {
    const std::uint64_t bits = random_bits(static_cast<std::uint64_t>(seed), left, name);
    std::swap(order[left - 1], order[random_below(bits, left)]);
  }
  return order;
}

SentenceOrder oracle_order(const SentenceTerms& terms, const Document& document, std::int64_t most) {
  const std::string& reference = *document.second;
  const bool for_rouge = metrics::suits_rouge(std::span(&reference, 1));
  const std::vector<std::string> wanted = metrics::scored_words(reference, for_rouge);
  require(!wanted.empty(), document.name,
          ": the oracle compares sentences with the words of the reference, found none");
  SentenceOrder chosen;
  double reached = 0;
  while (std::cmp_less(chosen.size(), most)) {
    std::size_t best = terms.sentences();
    for (std::size_t sentence = 0; sentence < terms.sentences(); ++sentence) {
      if (std::find(chosen.begin(), chosen.end(), sentence) != chosen.end()) {
        continue;
      }
      SentenceOrder tried = chosen;
      tried.push_back(sentence);
      const auto found =
          metrics::rouge_n(wanted, metrics::scored_words(joined_sentences(terms, document.first, tried), for_rouge));
      const double score = found[0].f1 + found[1].f1;
      if (score > reached) {
        reached = score;
        best = sentence;
      }
    }
    if (best == terms.sentences()) {
      break;
    }
    chosen.push_back(best);
  }
  return chosen;
}

SentenceOrder order_by_method(const SentenceTerms& terms, const Document& document, const ExtractConfig& config) {
  if (config.method == "lead") {
    return lead_order(terms);
  }
  if (config.method == "sumbasic") {
    return sum_basic_order(terms, static_cast<std::size_t>(config.sentences));
  }
  if (config.method == "lexrank" || config.method == "lexrank-continuous") {
    return order_by_score(lex_rank_scores(terms, {.continuous = config.method == "lexrank-continuous"}));
  }
  if (config.method == "lsa") {
    return order_by_score(lsa_scores(terms));
  }
  if (config.method == "random") {
    return random_order(terms, document.first, config.seed);
  }
  require(config.method == "oracle", "there is no method ", config.method, " that takes sentences");
  require(document.second.has_value(), document.name, ": the oracle needs a reference, found none");
  return oracle_order(terms, document, config.sentences);
}

SentenceOrder within_limits(const SentenceOrder& order, const SentenceTerms& terms, const std::string& text,
                            const ExtractConfig& config) {
  SentenceOrder chosen;
  std::size_t words = 0;
  for (const std::size_t sentence : order) {
    words += metrics::words_of(terms.places[sentence].in(text)).size();
    const bool too_many = config.words > 0 && std::cmp_greater(words, config.words) && !chosen.empty();
    if (std::cmp_greater_equal(chosen.size(), config.sentences) || too_many) {
      break;
    }
    chosen.push_back(sentence);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

TaskResult extract_one(const Document& given, const ExtractConfig& config) {
  const Document document{text::with_replacements(given.first), given.second, given.name};
  const SentenceTerms terms = sentence_terms(document.first, config.rules);
  require(terms.terms > 0, document.name, ": a summary needs a text with words, found none");
  const SentenceOrder chosen = within_limits(order_by_method(terms, document, config), terms, document.first, config);
  const formats::Json summary = {{"summary_text", joined_sentences(terms, document.first, chosen)},
                                 {"sentences", chosen}};
  return {formats::Json::array({summary}), {{"sentences", terms.sentences()}}};
}

}  // namespace

std::vector<TaskResult> extract(std::span<const Document> documents, const ExtractConfig& config) {
  std::vector<TaskResult> results;
  results.reserve(documents.size());
  for (const Document& document : documents) {
    results.push_back(extract_one(document, config));
  }
  return results;
}

}  // namespace weft::tasks
