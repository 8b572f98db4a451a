// SPDX-License-Identifier: Apache-2.0
// Windows that overlap by half: the first scores all its tokens, each later one the second half, and the last ends with
// the text.
#include "weft/training/evaluation/window_scoring.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ops/stack.h>

#include "weft/core/error.h"
#include "weft/data/batch.h"
#include "weft/text/hugging_face.h"

namespace weft::training {
namespace {

// Inputs [begin, begin + length); of their targets, one further on, the first `skip` were scored before.
struct Window {
  std::int64_t begin;
  std::int64_t skip;
};

std::vector<Window> windows_over(std::int64_t targets, std::int64_t length) {
  const std::int64_t stride = std::max<std::int64_t>(1, length / 2);
  std::vector<Window> windows;
  for (std::int64_t scored = 0; scored < targets;) {
    // The last window ends with the text, and so has more than half a context before what it scores.
    const std::int64_t end = scored == 0 ? length : std::min(scored + stride, targets);
    windows.push_back({end - length, scored - (end - length)});
    scored = end;
  }
  return windows;
}

struct WindowBatch {
  at::Tensor inputs;
  at::Tensor labels;
};

WindowBatch gather(const at::Tensor& ids, const Window* first, const Window* last, std::int64_t length) {
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> labels;
  for (; first != last; ++first) {
    inputs.push_back(ids.narrow(0, first->begin, length));
    // Cloned, because labels that were scored before are overwritten.
    labels.push_back(ids.narrow(0, first->begin + 1, length).clone());
    labels.back().narrow(0, 0, first->skip).fill_(data::kIgnoredLabel);
  }
  return {at::stack(inputs), at::stack(labels)};
}

}  // namespace

double summed_nats(const TokenLosses& losses, const at::Tensor& ids, const WindowOptions& options) {
  require(options.context >= 1, "context must be at least 1, found ", options.context);
  const std::int64_t targets = ids.numel() - 1;
  require(targets >= 1, "a text of at least two tokens can be evaluated, found ", ids.numel());
  const std::int64_t length = std::min(options.context, targets);
  const std::vector<Window> windows = windows_over(targets, length);
  const std::int64_t rows = std::max<std::int64_t>(1, options.batch_tokens / length);
  double nats = 0.0;
  for (std::int64_t next = 0, count = static_cast<std::int64_t>(windows.size()); next < count;) {
    const std::int64_t end = std::min(next + rows, count);
    if ((next / rows) % options.shares == options.share) {
      const WindowBatch batch = gather(ids, windows.data() + next, windows.data() + end, length);
      nats += losses(batch.inputs, batch.labels).sum(at::kDouble).item<double>();
    }
    if (!std::isfinite(nats)) {
      fail(ErrorKind::kNumeric, "the loss became ", nats, " within tokens ",
           windows[static_cast<std::size_t>(next)].begin, " to ",
           windows[static_cast<std::size_t>(end - 1)].begin + length, " of the text");
    }
    next = end;
    if (options.progress) {
      options.progress(windows[static_cast<std::size_t>(end - 1)].begin + length, targets);
    }
  }
  return nats;
}

std::vector<text::Span> token_places(const text::Tokenizer& tokenizer, std::string_view text) {
  if (const auto* hugging_face = dynamic_cast<const text::HuggingFaceTokenizer*>(&tokenizer)) {
    text::EncodeOptions whole;
    whole.special_tokens = false;
    return hugging_face->encode_windows(text, whole).front().byte_offsets;
  }
  if (!tokenizer.kind().starts_with("bytes")) {  // "bytes+2": other ids, the same places
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
