// SPDX-License-Identifier: Apache-2.0
// Windows of a text as an encoder of Hugging Face's is shown them in pre-training: the special tokens of a text stand
// around each, and are never masked (RoBERTa's full sentences, Liu et al. 2019, section 4.2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/data/masking.h"
#include "weft/text/hugging_face.h"

namespace weft::fine_tuning {

/// How tokens are chosen for prediction, as data::MaskingOptions has it.
struct MaskingPlan {
  double probability = 0.15;
  std::string unit = "tokens";
  std::int64_t seed = 0;
};

class FramedMasking {
 public:
  /// `model_ids` is the size of the model's vocabulary. Errors: kArgument for a tokeniser without a mask token or with
  /// ids that the model has not.
  FramedMasking(const text::HuggingFaceTokenizer& tokenizer, std::int64_t model_ids, const MaskingPlan& plan);

  /// Tokens around a window.
  std::int64_t special_tokens() const noexcept { return static_cast<std::int64_t>(before_.size() + after_.size()); }
  /// tokens int64 [B, n] -> inputs and labels [B, special + n], masked by (step, part) as data::masked_batch().
  data::Batch batch(const at::Tensor& tokens, std::int64_t step, std::int64_t part) const;

 private:
  std::vector<std::int64_t> before_;
  std::vector<std::int64_t> after_;
  data::MaskingOptions masking_;
};

}  // namespace weft::fine_tuning
