// SPDX-License-Identifier: Apache-2.0
// Places come from the tokeniser; scores are read batch by batch, in the order of window_scoring.h.
#include "weft/training/evaluation/token_scores.h"

#include <cmath>
#include <utility>

#include "weft/core/error.h"
#include "weft/data/batch.h"
#include "weft/text/hugging_face.h"

namespace weft::training {

std::vector<text::Span> token_places(const text::Tokenizer& tokenizer, std::string_view text) {
  if (const auto* hugging_face = dynamic_cast<const text::HuggingFaceTokenizer*>(&tokenizer)) {
    text::EncodeOptions whole;
    whole.special_tokens = false;
    return hugging_face->encode_windows(text, whole).front().byte_offsets;
  }
  if (tokenizer.kind() != "bytes") {
    fail(ErrorKind::kUnsupported,
         "scores of single tokens need their places in the text, which a SentencePiece "
         ".model file does not tell; bytes and Hugging Face tokenisers do");
  }
  std::vector<text::Span> places(text.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1};
  }
  return places;
}

TokenReport::TokenReport(std::vector<text::Span> places, OnTokenScore on_score)
    : places_(std::move(places)), on_score_(std::move(on_score)) {}

void TokenReport::add(const at::Tensor& nats, const at::Tensor& hits, const at::Tensor& labels) {
  if (!on_score_) {
    return;
  }
  const at::Tensor scored = labels.ne(data::kIgnoredLabel);
  const at::Tensor in_order = nats.masked_select(scored).to(at::kCPU, at::kDouble);
  const at::Tensor hits_in_order = hits.masked_select(scored).to(at::kCPU);
  const double* nat = in_order.const_data_ptr<double>();
  const bool* hit = hits_in_order.const_data_ptr<bool>();
  for (std::int64_t i = 0; i < in_order.numel(); ++i, ++next_) {
    const text::Span& place = places_.at(next_);
    on_score_({place.begin, place.end, nat[i] / std::log(2.0), hit[i]});
  }
}

}  // namespace weft::training
