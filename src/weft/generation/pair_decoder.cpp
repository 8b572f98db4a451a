// SPDX-License-Identifier: Apache-2.0
// Sources stay where they are while beams change places within one of them.
#include "weft/generation/pair_decoder.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <numeric>

#include "weft/layers/attention/cross_attention.h"

namespace weft::generation {
namespace {

using Numbers = std::vector<std::int64_t>;

/// 3 3 3 1 1 as 3 1.
Numbers without_repetition(Numbers numbers) {
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// 3 1 as 3 3 3 1 1 1, for three times.
Numbers repeated(const Numbers& numbers, std::int64_t times) {
  Numbers result;
  for (const std::int64_t number : numbers) {
    result.insert(result.end(), static_cast<std::size_t>(times), number);
  }
  return result;
}

}  // namespace

PairDecoder::PairDecoder(models::EncoderDecoder model, const at::Tensor& input_ids, const at::Tensor& attention_mask,
                         const at::Tensor& global_attention_mask)
    : model_(std::move(model)), device_(model_->parameters().front().device()), mode_(model_) {
  const auto there = [&](const at::Tensor& tensor) { return tensor.defined() ? tensor.to(device_) : tensor; };
  source_ = model_->encode(models::SourceText{there(input_ids), there(attention_mask), there(global_attention_mask)});
  reads_.resize(static_cast<std::size_t>(input_ids.size(0)));
  std::iota(reads_.begin(), reads_.end(), 0);
  texts_ = reads_;
}

PairDecoder::EvaluationMode::EvaluationMode(models::EncoderDecoder model)
    : model_(std::move(model)), was_training_(model_->is_training()) {
  model_->eval();
}

PairDecoder::EvaluationMode::~EvaluationMode() { model_->train(was_training_); }

at::Tensor PairDecoder::step(const at::Tensor& tokens, layers::DecodingState& state) {
  return model_->decode(tokens.to(device_), state, source_);
}

void PairDecoder::reorder(layers::DecodingState& state, const at::Tensor& rows) {
  state.reorder(rows.to(device_));
  const at::Tensor order = rows.to(at::kCPU).contiguous();
  std::vector<std::int64_t> reads;
  reads.reserve(static_cast<std::size_t>(order.numel()));
  for (std::int64_t row = 0; row < order.numel(); ++row) {
    reads.push_back(reads_.at(static_cast<std::size_t>(order.const_data_ptr<std::int64_t>()[row])));
  }
  reads_ = std::move(reads);
  const std::vector<std::int64_t> distinct = without_repetition(reads_);
  const std::int64_t readers = std::ssize(reads_) / std::max<std::int64_t>(1, std::ssize(distinct));
  if (repeated(distinct, readers) == reads_) {
    keep_texts(distinct, readers);
  } else {
    keep_texts(reads_, 1);
  }
}

// Keys and values of long sources are large: they move only when a text leaves or joins.
void PairDecoder::keep_texts(const std::vector<std::int64_t>& texts, std::int64_t readers) {
  if (texts != texts_) {
    std::vector<std::int64_t> places;
    places.reserve(texts.size());
    for (const std::int64_t text : texts) {
      places.push_back(std::find(texts_.begin(), texts_.end(), text) - texts_.begin());
    }
    source_ = std::make_shared<const layers::Source>(source_->reordered(at::tensor(places, at::kLong).to(device_)));
    texts_ = texts;
  }
  if (readers != source_->readers) {
    layers::Source shared = *source_;
    shared.readers = readers;
    source_ = std::make_shared<const layers::Source>(std::move(shared));
  }
}

std::optional<std::int64_t> PairDecoder::longest() const {
  const models::EncoderDecoderConfig& config = model_->config();
  return config.position_embedding == "learned" ? std::optional(config.max_target_positions) : std::nullopt;
}

}  // namespace weft::generation
