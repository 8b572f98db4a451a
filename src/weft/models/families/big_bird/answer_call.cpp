// SPDX-License-Identifier: Apache-2.0
// The question's tokens, by its separator or by the places of the texts.
#include "weft/models/families/big_bird/answer_call.h"

#include <ATen/ops/arange.h>

namespace weft::models {
namespace {

/// bool [R, N]: the tokens up to the first separator; the first token alone where there is none, as `transformers` has
/// it.
at::Tensor question_tokens(const at::Tensor& ids, std::int64_t separator) {
  const at::Tensor end = ids.eq(separator).to(at::kInt).argmax(1, true);
  return at::arange(ids.size(1), ids.options()).unsqueeze(0).le(end);
}

/// The same by the places of the texts; all tokens of a row that is one text.
at::Tensor question_by_places(const at::Tensor& ids, const at::Tensor& places) {
  const at::Tensor end = places.narrow(1, 0, 1);
  return at::arange(ids.size(1), ids.options()).unsqueeze(0).le(end).logical_or(end.lt(0));
}

}  // namespace

void complete_answer(EncoderBatch& batch, const EncoderConfig& config, Head head, const EncoderInput&,
                     const at::Tensor& places) {
  if (head != Head::kQuestionAnswering) {
    return;
  }
  const at::Tensor question =
      places.defined() ? question_by_places(batch.ids, places) : question_tokens(batch.ids, config.sep_token_id);
  if (!batch.token_types.defined()) {
    batch.token_types = question.logical_not().to(at::kLong);
  }
  batch.question = question.clone();
  batch.question.select(1, 0).fill_(false);  // the first token stands for "no answer"
}

}  // namespace weft::models
