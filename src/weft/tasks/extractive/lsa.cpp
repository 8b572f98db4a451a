// SPDX-License-Identifier: Apache-2.0
// Singular values of terms by sentences are square roots of the eigenvalues of sentences by sentences.
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/tasks/extractive/rankings.h"

namespace weft::tasks {
namespace {

// [sentences, sentences]: how many words two sentences have in common, counts multiplied.
at::Tensor shared_words(const SentenceTerms& text) {
  const auto count = static_cast<std::int64_t>(text.sentences());
  at::Tensor products = at::zeros({count, count}, at::kDouble);
  std::vector<std::vector<TermCount>> places(text.terms);  // by word: sentence and count
  for (std::size_t sentence = 0; sentence < text.sentences(); ++sentence) {
    for (const TermCount& term : text.counts[sentence]) {
      places[term.term].push_back({static_cast<std::uint32_t>(sentence), term.count});
    }
  }
  auto* const numbers = products.mutable_data_ptr<double>();
  for (const std::vector<TermCount>& of_word : places) {
    for (const TermCount& first : of_word) {
      for (const TermCount& second : of_word) {
        numbers[(static_cast<std::int64_t>(first.term) * count) + second.term] +=
            static_cast<double>(first.count * second.count);
      }
    }
  }
  return products;
}

}  // namespace

std::vector<double> lsa_scores(const SentenceTerms& text) {
  constexpr std::size_t kMostSentences = 5'000;
  constexpr double kLeastShare = 0.25;  // of the largest eigenvalue: half of the singular value
  if (text.sentences() > kMostSentences) {
    fail(ErrorKind::kUnsupported, "LSA takes a text of at most ", kMostSentences, " sentences, found ",
         text.sentences());
  }
  const auto [values, vectors] = at::linalg_eigh(shared_words(text));
  const at::Tensor rows = vectors.contiguous();
  const auto count = static_cast<std::int64_t>(text.sentences());
  const auto* const value = values.const_data_ptr<double>();
  const auto* const vector = rows.const_data_ptr<double>();
  const double largest = value[count - 1];
  std::vector<double> scores(text.sentences(), 0.0);
  for (std::int64_t sentence = 0; sentence < count; ++sentence) {
    double sum = 0;
    for (std::int64_t topic = 0; topic < count; ++topic) {
      const double part = vector[(sentence * count) + topic];
      sum += value[topic] >= kLeastShare * largest ? part * part * std::max(value[topic], 0.0) : 0.0;
    }
    scores[static_cast<std::size_t>(sentence)] = std::sqrt(sum);
  }
  return scores;
}

}  // namespace weft::tasks
