// SPDX-License-Identifier: Apache-2.0
// Counts and probabilities, and a walk over sentences that share words.
#include "weft/tasks/extractive/rankings.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"

namespace weft::tasks {
namespace {

double mean_probability(const std::vector<std::uint32_t>& words, const std::vector<double>& probability) {
  double sum = 0;
  for (const std::uint32_t word : words) {
    sum += probability[word];
  }
  return sum / static_cast<double>(words.size());
}

// The likeliest word of the sentences that are left.
std::uint32_t likeliest_word(const SentenceTerms& text, const std::vector<bool>& taken,
                             const std::vector<double>& probability) {
  std::uint32_t best = 0;
  double most = -1;
  for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
    if (taken[sentence]) {
      continue;
    }
    for (const TermCount& count : text.counts[sentence]) {
      const double value = probability[count.term];
      if (value > most || (value == most && count.term < best)) {
        best = count.term;
        most = value;
      }
    }
  }
  return best;
}

bool has_term(const std::vector<TermCount>& counts, std::uint32_t term) {
  const auto found = std::lower_bound(counts.begin(), counts.end(), term,
                                      [](const TermCount& count, std::uint32_t value) { return count.term < value; });
  return found != counts.end() && found->term == term;
}

std::vector<double> word_probabilities(const SentenceTerms& text) {
  std::vector<double> probability(text.terms, 0.0);
  double all = 0;
  for (const std::vector<std::uint32_t>& words : text.words) {
    for (const std::uint32_t word : words) {
      probability[word] += 1;
    }
    all += static_cast<double>(words.size());
  }
  for (double& value : probability) {
    value /= all;
  }
  return probability;
}

/// A sentence that another one is joined with, and by how much.
struct Likeness {
  std::size_t sentence = 0;
  double weight = 0;
};

// For each word the sentences that have it, with its count times its rarity.
std::vector<std::vector<Likeness>> weighted_postings(const SentenceTerms& text) {
  std::vector<std::vector<Likeness>> postings(text.terms);
  for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
    for (const TermCount& count : text.counts[sentence]) {
      postings[count.term].push_back({sentence, static_cast<double>(count.count)});
    }
  }
  for (std::vector<Likeness>& places : postings) {
    const double rarity = std::log(static_cast<double>(text.sentences()) / static_cast<double>(places.size()));
    for (Likeness& place : places) {
      place.weight *= rarity;
    }
  }
  return postings;
}

std::vector<double> sentence_lengths(const std::vector<std::vector<Likeness>>& postings, std::size_t sentences) {
  std::vector<double> lengths(sentences, 0.0);
  for (const std::vector<Likeness>& places : postings) {
    for (const Likeness& place : places) {
      lengths[place.sentence] += place.weight * place.weight;
    }
  }
  for (double& length : lengths) {
    length = std::sqrt(length);
  }
  return lengths;
}

double weight_in(const std::vector<Likeness>& places, std::size_t sentence) {
  const auto found = std::lower_bound(places.begin(), places.end(), sentence,
                                      [](const Likeness& place, std::size_t value) { return place.sentence < value; });
  return found->weight;
}

// The links of each sentence, itself among them, which sum to 1. One whose words all stand in every sentence has none.
std::vector<std::vector<Likeness>> sentence_links(const SentenceTerms& text, const LexRankOptions& options) {
  const std::vector<std::vector<Likeness>> postings = weighted_postings(text);
  const std::vector<double> lengths = sentence_lengths(postings, text.sentences());
  std::vector<std::vector<Likeness>> links(text.sentences());
  std::vector<double> products(text.sentences());
  for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
    std::fill(products.begin(), products.end(), 0.0);
    for (const TermCount& count : text.counts[sentence]) {
      const double weight = weight_in(postings[count.term], sentence);
      for (const Likeness& place : postings[count.term]) {
        products[place.sentence] += weight * place.weight;
      }
    }
    double sum = 0;
    for (std::size_t other = 0; other < text.sentences(); ++other) {
      const double scale = lengths[sentence] * lengths[other];
      const double cosine = scale > 0 ? products[other] / scale : 0.0;
      if (cosine > (options.continuous ? 0.0 : options.threshold)) {
        links[sentence].push_back({other, options.continuous ? cosine : 1.0});
        sum += links[sentence].back().weight;
      }
    }
    for (Likeness& link : links[sentence]) {
      link.weight /= sum;
    }
  }
  return links;
}

}  // namespace

std::vector<std::size_t> sum_basic_order(const SentenceTerms& text, std::size_t most_sentences) {
  std::vector<double> probability = word_probabilities(text);
  std::vector<bool> taken(text.sentences(), false);
  std::vector<std::size_t> order;
  const auto left = [&](std::size_t sentence) { return !taken[sentence] && !text.words[sentence].empty(); };
  while (order.size() < most_sentences) {
    const std::uint32_t word = likeliest_word(text, taken, probability);
    std::size_t best = text.sentences();
    double most = -1;
    for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
      if (left(sentence) && has_term(text.counts[sentence], word)) {
        const double mean = mean_probability(text.words[sentence], probability);
        best = mean > most ? sentence : best;
        most = std::max(mean, most);
      }
    }
    if (best == text.sentences()) {
      break;
    }
    taken[best] = true;
    order.push_back(best);
    for (const TermCount& count : text.counts[best]) {
      probability[count.term] *= probability[count.term];
    }
  }
  return order;
}

std::vector<double> lex_rank_scores(const SentenceTerms& text, const LexRankOptions& options) {
  constexpr std::size_t kMostSentences = 20'000;
  constexpr int kMostSteps = 10'000;
  constexpr double kStill = 1e-12;
  if (text.sentences() > kMostSentences) {
    fail(ErrorKind::kUnsupported, "LexRank takes a text of at most ", kMostSentences, " sentences, found ",
         text.sentences());
  }
  const std::vector<std::vector<Likeness>> links = sentence_links(text, options);
  const auto count = static_cast<double>(text.sentences());
  std::vector<double> scores(text.sentences(), 1 / count);
  for (int step = 0; step < kMostSteps; ++step) {
    double nowhere = 0;  // of sentences without links: the walk goes anywhere
    std::vector<double> next(text.sentences(), 0.0);
    for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
      nowhere += links[sentence].empty() ? scores[sentence] : 0.0;
      for (const Likeness& link : links[sentence]) {
        next[link.sentence] += scores[sentence] * link.weight;
      }
    }
    double change = 0;
    for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
      next[sentence] = (1 - options.damping) / count + options.damping * (next[sentence] + nowhere / count);
      change += std::abs(next[sentence] - scores[sentence]);
    }
    scores.swap(next);
    if (change < kStill) {
      break;
    }
  }
  return scores;
}

// Of one sentence that stands twice, rounding alone makes two scores.
std::vector<std::size_t> order_by_score(const std::vector<double>& scores) {
  constexpr double kSteps = 1e9;  // of the largest score
  const double largest = scores.empty() ? 0.0 : *std::ranges::max_element(scores);
  std::vector<std::int64_t> steps(scores.size());
  std::ranges::transform(scores, steps.begin(), [&](double score) {
    return largest > 0 ? static_cast<std::int64_t>(std::llround(score / largest * kSteps)) : 0;
  });
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t sentence) { return steps[sentence]; });
  return order;
}

}  // namespace weft::tasks
