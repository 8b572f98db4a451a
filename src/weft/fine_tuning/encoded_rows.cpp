// SPDX-License-Identifier: Apache-2.0
// Rows one behind the other in flat arrays.
#include "weft/fine_tuning/encoded_rows.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::fine_tuning {

void EncodedRows::add(const text::Encoding& window) {
  require(!window.ids.empty(), "row ", size(), " has no tokens, and the tokeniser puts none around a text");
  for (std::size_t i = 0; i < window.ids.size(); ++i) {
    require(window.ids[i] <= std::numeric_limits<std::int32_t>::max() && window.type_ids[i] <= 255,
            "a token must have an id below 2^31 and a type below 256, found ", window.ids[i], " and ",
            window.type_ids[i]);
    ids_.push_back(static_cast<std::int32_t>(window.ids[i]));
    types_.push_back(static_cast<std::uint8_t>(window.type_ids[i]));
  }
  begins_.push_back(static_cast<std::int64_t>(ids_.size()));
}

std::int64_t EncodedRows::length(std::int64_t row) const {
  const auto index = static_cast<std::size_t>(row);
  return begins_.at(index + 1) - begins_.at(index);
}

models::EncoderInput EncodedRows::batch(std::span<const std::int64_t> rows, const Padding& padding) const {
  std::int64_t longest = 0;
  for (const std::int64_t row : rows) {
    longest = std::max(longest, length(row));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  models::EncoderInput input;
  input.input_ids = at::full({count, longest}, padding.id, at::kLong);
  input.attention_mask = at::zeros({count, longest}, at::kLong);
  input.token_type_ids = padding.token_types ? at::zeros({count, longest}, at::kLong) : at::Tensor();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    const std::int64_t begin = begins_[static_cast<std::size_t>(row)];
    const std::int64_t tokens = length(row);
    std::copy_n(ids_.begin() + begin, tokens, input.input_ids.data_ptr<std::int64_t>() + i * longest);
    std::fill_n(input.attention_mask.data_ptr<std::int64_t>() + i * longest, tokens, 1);
    if (padding.token_types) {
      std::copy_n(types_.begin() + begin, tokens, input.token_type_ids.data_ptr<std::int64_t>() + i * longest);
    }
  }
  return input;
}

std::uint64_t EncodedRows::fingerprint() const noexcept {
  std::uint64_t print = random_bits(static_cast<std::uint64_t>(size()), static_cast<std::uint64_t>(tokens()));
  for (std::int64_t row = 0; row < size(); ++row) {
    print = random_bits(print, static_cast<std::uint64_t>(begins_[static_cast<std::size_t>(row)]));
  }
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    print = random_bits(print, static_cast<std::uint64_t>(ids_[i]), types_[i]);
  }
  return print;
}

}  // namespace weft::fine_tuning
