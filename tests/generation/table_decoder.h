// SPDX-License-Identifier: Apache-2.0
// A decoder without a model: the logits are a row of a table that the last two tokens choose. It remembers its rows as
// a cache does, so that a wrong reorder shows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "weft/generation/decoder.h"

namespace weft::test {

class TableDecoder final : public generation::Decoder {
 public:
  /// table [V, V, V]: token before the last (0 in front of a single one), last token, next token.
  explicit TableDecoder(at::Tensor table) : table_(std::move(table)) {}

  layers::DecodingState initial_state() override {
    rows_.clear();
    return layers::DecodingState({});
  }

  at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) override {
    if (state.length() == 0) {
      rows_.assign(static_cast<std::size_t>(tokens.size(0)), {0, 0});
    }
    widths.push_back(tokens.size(0));
    state.advance(tokens.size(1));
    const at::Tensor given = tokens.contiguous();
    const std::int64_t* token = given.const_data_ptr<std::int64_t>();
    std::vector<std::int64_t> places;
    for (Last& last : rows_) {
      for (std::int64_t i = 0; i < tokens.size(1); ++i) {
        last = {last.token, *token++};
      }
      places.push_back(last.before * table_.size(1) + last.token);
    }
    return table_.flatten(0, 1).index_select(0, at::tensor(places, at::kLong));
  }

  void reorder(layers::DecodingState&, const at::Tensor& rows) override {
    std::vector<Last> chosen;
    chosen.reserve(static_cast<std::size_t>(rows.numel()));
    for (std::int64_t row = 0; row < rows.numel(); ++row) {
      chosen.push_back(rows_.at(static_cast<std::size_t>(rows.const_data_ptr<std::int64_t>()[row])));
    }
    rows_ = std::move(chosen);
  }

  std::optional<std::int64_t> longest() const override { return std::nullopt; }

  std::vector<std::int64_t> widths;  ///< rows of each step so far

 private:
  struct Last {
    std::int64_t before;
    std::int64_t token;
  };
  at::Tensor table_;
  std::vector<Last> rows_;
};

}  // namespace weft::test
