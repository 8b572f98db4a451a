// SPDX-License-Identifier: Apache-2.0
// A drawn token has the type of the tokens that it came from.
#include "weft/fine_tuning/training_batch.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace weft::fine_tuning {
namespace {

// Every token where it was.
text::DrawnTokens unmoved(const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> places(ids.size());
  std::iota(places.begin(), places.end(), 0);
  return {ids, places, places};
}

TokenRow moved(const TokenRow& row, const text::DrawnTokens& drawn) {
  const auto place = [&](std::int64_t token) {
    return token < 0 || token >= std::ssize(drawn.first) ? token : drawn.first[static_cast<std::size_t>(token)];
  };
  TokenRow result{
      drawn.ids, std::vector<std::int64_t>(drawn.ids.size()), {place(row.places.end), place(row.places.begin)}, {}};
  for (const std::int64_t token : row.globals) {
    const auto index = static_cast<std::size_t>(token);
    for (std::int64_t part = drawn.first[index]; part <= drawn.last[index]; ++part) {
      result.globals.push_back(part);
    }
  }
  for (std::size_t token = 0; token < row.ids.size(); ++token) {
    std::fill(result.types.begin() + drawn.first[token], result.types.begin() + drawn.last[token] + 1,
              row.types[token]);
  }
  return result;
}

}  // namespace

std::int64_t TrainingBatch::first(std::size_t row, std::int64_t token) const {
  return drawn.empty() ? token : drawn[row].first.at(static_cast<std::size_t>(token));
}

std::int64_t TrainingBatch::last(std::size_t row, std::int64_t token) const {
  return drawn.empty() ? token : drawn[row].last.at(static_cast<std::size_t>(token));
}

at::Tensor kept_tokens(const models::EncoderInput& input) {
  return input.attention_mask.defined() ? input.attention_mask.flatten(0, -2).ne(0) : at::Tensor();
}

at::Tensor among_kept(const at::Tensor& logits, const at::Tensor& keep) {
  return keep.defined() ? logits.to(at::kFloat).masked_fill(keep.logical_not(), kNever) : logits;
}

std::vector<text::DrawnTokens> draw_anew(std::vector<TokenRow>& rows, const text::SubwordSampler& sampler,
                                         const data::RowDraws& draws, std::int64_t longest) {
  const auto fits = [longest](std::size_t tokens) { return static_cast<std::int64_t>(tokens) <= longest; };
  std::vector<text::DrawnTokens> all;
  for (TokenRow& row : rows) {
    const auto number = static_cast<std::int64_t>(all.size());
    std::optional<text::DrawnTokens> drawn = data::drawn_row(row.ids, sampler, draws, number, fits);
    all.push_back(drawn ? std::move(*drawn) : unmoved(row.ids));
    row = moved(row, all.back());
  }
  return all;
}

}  // namespace weft::fine_tuning
