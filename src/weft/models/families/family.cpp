// SPDX-License-Identifier: Apache-2.0
// The table of encoder families.
#include "weft/models/families/family.h"

#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::models {

const EncoderFamily& find_family(std::string_view model_type) {
  const std::array families{&bert_family(), &roberta_family(), &longformer_family(), &big_bird_family()};
  for (const EncoderFamily* family : families) {
    if (family->model_type == model_type) {
      return *family;
    }
  }
  fail(ErrorKind::kArgument, "model_type must be one of bert, roberta, longformer, big_bird, found ",
       quote(model_type));
}

bool reads_pooler(const EncoderFamily& family, Head head) {
  return head == Head::kMultipleChoice ||
         (head == Head::kSequenceClassification && family.classifier == Classifier::kPooled);
}

void check_nothing(const EncoderConfig&, std::string_view) {}
std::string full_attention(const EncoderConfig&, const EncoderOptions&, std::int64_t) { return "full"; }
std::int64_t never_full(const EncoderConfig&, const EncoderOptions&) { return -1; }
at::Tensor no_globals(const EncoderConfig&, Head, const at::Tensor&) { return {}; }

}  // namespace weft::models
