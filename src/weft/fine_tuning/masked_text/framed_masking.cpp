// SPDX-License-Identifier: Apache-2.0
// The frame is what the tokeniser puts around one letter.
#include "weft/fine_tuning/masked_text/framed_masking.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::fine_tuning {
namespace {

at::Tensor repeated(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  return at::tensor(ids, at::kLong).unsqueeze(0).expand({rows, static_cast<std::int64_t>(ids.size())});
}

at::Tensor ignored(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  return at::full({rows, static_cast<std::int64_t>(ids.size())}, data::kIgnoredLabel, at::kLong);
}

}  // namespace

FramedMasking::FramedMasking(const text::HuggingFaceTokenizer& tokenizer, std::int64_t model_ids,
                             const MaskingPlan& plan) {
  const std::optional<std::int64_t> mask = tokenizer.special(text::SpecialRole::kMask);
  require(mask.has_value(), "masked text: the tokeniser has no mask token");
  require(tokenizer.vocabulary_size() <= model_ids, "masked text: the tokeniser has ", tokenizer.vocabulary_size(),
          " ids, but the model only ", model_ids);
  masking_ = data::masking_options(tokenizer, *mask, plan.probability, plan.unit, plan.seed);
  const text::Encoding letter = tokenizer.encode_windows("a").front();
  const auto is_text = [](std::int64_t special) { return special == 0; };
  const auto begin = std::find_if(letter.special_mask.begin(), letter.special_mask.end(), is_text);
  require(begin != letter.special_mask.end(), "masked text: the tokeniser leaves nothing of a letter");
  const auto end = std::find_if(letter.special_mask.rbegin(), letter.special_mask.rend(), is_text);
  before_.assign(letter.ids.begin(), letter.ids.begin() + (begin - letter.special_mask.begin()));
  after_.assign(letter.ids.end() - (end - letter.special_mask.rbegin()), letter.ids.end());
}

data::Batch FramedMasking::batch(const at::Tensor& tokens, std::int64_t step, std::int64_t part) const {
  const data::Batch masked = data::masked_batch(tokens, masking_, step, part);
  const std::int64_t rows = tokens.size(0);
  return {at::cat({repeated(before_, rows), masked.input_ids, repeated(after_, rows)}, 1),
          at::cat({ignored(before_, rows), masked.labels, ignored(after_, rows)}, 1)};
}

}  // namespace weft::fine_tuning
