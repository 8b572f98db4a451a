// SPDX-License-Identifier: Apache-2.0
// Extractive answers out of start and end logits: the best spans over all windows of a document, and whether there is
// an answer at all (Devlin et al. 2019, section 4.3; SQuAD 2.0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/text/encoding.h"

namespace weft::tasks {

/// What a model says about one window of question and document; both spans have one number a token.
struct AnswerWindow {
  const text::Encoding* encoding = nullptr;
  std::span<const float> start_logits;
  std::span<const float> end_logits;
};

struct AnswerOptions {
  std::int64_t count = 1;               ///< answers wanted at most
  std::int64_t max_answer_tokens = 15;  ///< of a span
  std::int64_t sequence = 1;            ///< which text of the pair holds the answer
  bool may_be_unanswerable = false;     ///< "no answer" is among the candidates
  double null_threshold = 0;            ///< "no answer" wins when its logit is larger than the best span's by more
};

/// A place in the document. `score` is the product of two softmaxes over the window's candidates and its first token,
/// that of the question-answering pipeline; `logit` is start + end, which alone compares across windows.
struct AnswerSpan {
  text::Span offsets;       ///< in code points of the document; 0 to 0 for "no answer"
  text::Span byte_offsets;  ///< the same in bytes
  double score = 0;
  double logit = 0;
  std::int64_t window = 0;
  bool no_answer = false;
};

struct Answers {
  std::vector<AnswerSpan> best;  ///< by logit; the same span seen in two windows counts once
  double null_score = 0;         ///< of "no answer", the smallest over all windows
  double null_logit = 0;         ///< the same as a logit
};

/// Every span of at most max_answer_tokens in every window is looked at: tokens of the document, the end not before the
/// start. The first token of a window stands for "no answer". Errors: kArgument where no window has a token of the
/// document or lengths differ; kNumeric for logits that are not finite.
Answers select_answers(std::span<const AnswerWindow> windows, const AnswerOptions& options);

}  // namespace weft::tasks
