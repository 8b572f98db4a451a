// SPDX-License-Identifier: Apache-2.0
// Rows one behind the other.
#include "weft/fine_tuning/encoded_rows.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::fine_tuning {

void EncodedRows::add(const text::Encoding& window, std::span<const std::int64_t> globals) {
  require(!window.ids.empty(), "row ", size(),
          " is an empty text, and this tokeniser adds no special tokens, so the model has nothing to read");
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> types;
  ids.reserve(window.ids.size());
  types.reserve(window.ids.size());
  for (std::size_t i = 0; i < window.ids.size(); ++i) {
    require(window.ids[i] <= std::numeric_limits<std::int32_t>::max() && window.type_ids[i] <= 255,
            "a token must have an id below 2^31 and a type below 256, found ", window.ids[i], " and ",
            window.type_ids[i]);
    ids.push_back(static_cast<std::int32_t>(window.ids[i]));
    types.push_back(static_cast<std::uint8_t>(window.type_ids[i]));
  }
  ids_.append(ids.data(), ids.size() * sizeof(std::int32_t));
  types_.append(types.data(), types.size());
  begins_.push_back(begins_.back() + std::ssize(ids));
  places_.push_back(text::pair_places(window));
  std::transform(globals.begin(), globals.end(), std::back_inserter(globals_),
                 [](std::int64_t token) { return static_cast<std::int32_t>(token); });
  global_begins_.push_back(globals_.size());
}

std::int64_t EncodedRows::length(std::int64_t row) const {
  const auto index = static_cast<std::size_t>(row);
  return begins_.at(index + 1) - begins_.at(index);
}

EncodedRows::Tokens EncodedRows::tokens_of(std::int64_t row) const {
  const auto begin = static_cast<std::uint64_t>(begins_.at(static_cast<std::size_t>(row)));
  const auto count = static_cast<std::size_t>(length(row));
  Tokens tokens{std::vector<std::int32_t>(count), std::vector<std::uint8_t>(count)};
  ids_.read(begin * sizeof(std::int32_t), tokens.ids.data(), count * sizeof(std::int32_t));
  types_.read(begin, tokens.types.data(), count);
  return tokens;
}

TokenRow EncodedRows::row(std::int64_t number) const {
  const Tokens tokens = tokens_of(number);
  const auto index = static_cast<std::size_t>(number);
  const auto global = [&](std::size_t row) {
    return globals_.begin() + static_cast<std::ptrdiff_t>(global_begins_.at(row));
  };
  return {{tokens.ids.begin(), tokens.ids.end()},
          {tokens.types.begin(), tokens.types.end()},
          places_.at(index),
          {global(index), global(index + 1)}};
}

models::EncoderInput padded(std::span<const TokenRow> rows, const Padding& padding) {
  std::size_t longest = 0;
  for (const TokenRow& row : rows) {
    longest = std::max(longest, row.ids.size());
  }
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest)};
  models::EncoderInput input;
  input.input_ids = at::full(sizes, padding.id, at::kLong);
  input.attention_mask = at::zeros(sizes, at::kLong);
  input.token_type_ids = padding.token_types ? at::zeros(sizes, at::kLong) : at::Tensor();
  input.pair_places = at::full({sizes.front(), 2}, -1, at::kLong);
  if (std::any_of(rows.begin(), rows.end(), [](const TokenRow& row) { return !row.globals.empty(); })) {
    input.global_attention_mask = at::zeros(sizes, at::kLong);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::int64_t* const places = input.pair_places.data_ptr<std::int64_t>() + 2 * i;
    places[0] = rows[i].places.end;
    places[1] = rows[i].places.begin;
    const auto of_row = [&](const at::Tensor& tensor) { return tensor.data_ptr<std::int64_t>() + i * longest; };
    std::copy(rows[i].ids.begin(), rows[i].ids.end(), of_row(input.input_ids));
    std::fill_n(of_row(input.attention_mask), rows[i].ids.size(), 1);
    if (padding.token_types) {
      std::copy(rows[i].types.begin(), rows[i].types.end(), of_row(input.token_type_ids));
    }
    for (const std::int64_t token : rows[i].globals) {
      of_row(input.global_attention_mask)[token] = 1;
    }
  }
  return input;
}

std::uint64_t EncodedRows::fingerprint() const {
  std::uint64_t print = random_bits(static_cast<std::uint64_t>(size()), static_cast<std::uint64_t>(tokens()));
  for (std::int64_t row = 0; row < size(); ++row) {
    print = random_bits(print, static_cast<std::uint64_t>(begins_[static_cast<std::size_t>(row)]));
  }
  for (std::int64_t row = 0; row < size(); ++row) {
    const Tokens tokens = tokens_of(row);
    for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
      print = random_bits(print, static_cast<std::uint64_t>(tokens.ids[i]), tokens.types[i]);
    }
  }
  for (std::size_t row = 0; !globals_.empty() && row < global_begins_.size(); ++row) {
    print = random_bits(print, global_begins_[row]);
  }
  for (const std::int32_t token : globals_) {
    print = random_bits(print, static_cast<std::uint64_t>(token));
  }
  return print;
}

}  // namespace weft::fine_tuning
