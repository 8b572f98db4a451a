// SPDX-License-Identifier: Apache-2.0
// The spans of one window after the other go through a short list of the best so far, so that memory does not grow with
// the document. Logits rank them, because a softmax of one window says nothing about another's.
#include "weft/tasks/decode/answers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/decode/scores.h"

namespace weft::tasks {
namespace {

// exp(logit - largest) / sum over candidates and the first token: what `transformers` makes probabilities of.
struct Normaliser {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;

  Normaliser(std::span<const float> logits, const std::vector<std::size_t>& tokens) {
    for (const std::size_t token : tokens) {
      largest = std::max(largest, static_cast<double>(logits[token]));
    }
    for (const std::size_t token : tokens) {
      sum += std::exp(static_cast<double>(logits[token]) - largest);
    }
  }
  double operator()(float logit) const { return std::exp(static_cast<double>(logit) - largest) / sum; }
};

// The best spans so far, best first; ties keep the earlier one.
class ShortList {
 public:
  explicit ShortList(std::int64_t count) : count_(static_cast<std::size_t>(std::max<std::int64_t>(count, 1))) {}

  bool takes(double logit) const { return spans_.size() < count_ || logit > spans_.back().logit; }

  void add(const AnswerSpan& span) {
    const auto same = std::find_if(spans_.begin(), spans_.end(),
                                   [&](const AnswerSpan& other) { return other.offsets == span.offsets; });
    if (same != spans_.end()) {
      if (same->logit >= span.logit) {
        return;
      }
      spans_.erase(same);
    }
    const auto place =
        std::find_if(spans_.begin(), spans_.end(), [&](const AnswerSpan& other) { return span.logit > other.logit; });
    spans_.insert(place, span);
    spans_.resize(std::min(spans_.size(), count_));
  }

  std::vector<AnswerSpan> take() { return std::move(spans_); }

 private:
  std::size_t count_;
  std::vector<AnswerSpan> spans_;
};

void check_lengths(const AnswerWindow& window) {
  const std::size_t tokens = window.encoding->ids.size();
  require(tokens > 0 && window.start_logits.size() == tokens && window.end_logits.size() == tokens, "a window of ",
          tokens, " tokens needs as many start and end logits, found ", window.start_logits.size(), " and ",
          window.end_logits.size());
  require_finite(window.start_logits);
  require_finite(window.end_logits);
}

// Positions of the document's tokens in a window, in order.
std::vector<std::size_t> candidate_tokens(const text::Encoding& encoding, std::int64_t sequence) {
  std::vector<std::size_t> tokens;
  for (std::size_t token = 0; token < encoding.ids.size(); ++token) {
    if (encoding.sequences[token] == sequence) {
      tokens.push_back(token);
    }
  }
  return tokens;
}

AnswerSpan span_of(const text::Encoding& encoding, std::size_t first, std::size_t last) {
  AnswerSpan span;
  span.offsets = {encoding.offsets[first].begin, encoding.offsets[last].end};
  span.byte_offsets = {encoding.byte_offsets[first].begin, encoding.byte_offsets[last].end};
  return span;
}

// Adds the spans of one window to `list` and lowers the scores of "no answer" to the window's.
void search_window(const AnswerWindow& window, std::int64_t number, const AnswerOptions& options, ShortList& list,
                   Answers& answers) {
  const std::vector<std::size_t> tokens = candidate_tokens(*window.encoding, options.sequence);
  std::vector<std::size_t> normalised = tokens;
  normalised.insert(normalised.begin(), 0);
  const Normaliser starts(window.start_logits, normalised);
  const Normaliser ends(window.end_logits, normalised);
  const double null_logit = static_cast<double>(window.start_logits[0]) + static_cast<double>(window.end_logits[0]);
  answers.null_logit = std::min(answers.null_logit, null_logit);
  answers.null_score = std::min(answers.null_score, starts(window.start_logits[0]) * ends(window.end_logits[0]));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    end_piece();
    for (std::size_t j = i; j < tokens.size(); ++j) {
      // Tokens of the document are neighbours in a window, but nothing here depends on it.
      if (static_cast<std::int64_t>(tokens[j] - tokens[i]) >= options.max_answer_tokens) {
        break;
      }
      const float start = window.start_logits[tokens[i]];
      const float end = window.end_logits[tokens[j]];
      const double logit = static_cast<double>(start) + static_cast<double>(end);
      if (list.takes(logit)) {
        AnswerSpan span = span_of(*window.encoding, tokens[i], tokens[j]);
        span.logit = logit;
        span.score = starts(start) * ends(end);
        span.window = number;
        list.add(span);
      }
    }
  }
}

}  // namespace

Answers select_answers(std::span<const AnswerWindow> windows, const AnswerOptions& options) {
  require(options.max_answer_tokens >= 1, "max_answer_tokens must be at least 1, found ", options.max_answer_tokens);
  Answers answers;
  answers.null_logit = std::numeric_limits<double>::infinity();
  answers.null_score = std::numeric_limits<double>::infinity();
  ShortList list(options.count);
  for (std::size_t number = 0; number < windows.size(); ++number) {
    check_lengths(windows[number]);
    search_window(windows[number], static_cast<std::int64_t>(number), options, list, answers);
  }
  answers.best = list.take();
  require(!answers.best.empty(), "the document has no token, so it has no answer");
  if (options.may_be_unanswerable) {
    AnswerSpan none;
    none.no_answer = true;
    none.logit = answers.null_logit;
    none.score = answers.null_score;
    const auto place = std::find_if(answers.best.begin(), answers.best.end(), [&](const AnswerSpan& span) {
      return answers.null_logit - span.logit > options.null_threshold;
    });
    answers.best.insert(place, none);
    answers.best.resize(
        std::min(answers.best.size(), static_cast<std::size_t>(std::max<std::int64_t>(options.count, 1))));
  }
  return answers;
}

}  // namespace weft::tasks
