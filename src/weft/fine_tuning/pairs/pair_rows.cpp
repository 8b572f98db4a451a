// SPDX-License-Identifier: Apache-2.0
// Both sides of all pairs lie one behind the other in one flat array.
#include "weft/fine_tuning/pairs/pair_rows.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/data/batch.h"

namespace weft::fine_tuning {
namespace {

std::int64_t length_of(const std::vector<std::int64_t>& ids) { return static_cast<std::int64_t>(ids.size()); }

}  // namespace

void PairRows::add(const PairRow& row) {
  for (const std::vector<std::int64_t>* side : {&row.source, &row.target}) {
    begins_.push_back(tokens());
    for (const std::int64_t id : *side) {
      require(id >= 0 && id <= std::numeric_limits<std::int32_t>::max(), "a token must have an id below 2^31, found ",
              id);
      ids_.push_back(static_cast<std::int32_t>(id));
    }
  }
  links_.insert(links_.end(), row.links.begin(), row.links.end());
  link_ends_.push_back(links());
}

PairRow PairRows::row(std::int64_t pair) const {
  const auto ids = [&](std::int64_t side) {
    return std::vector<std::int64_t>(ids_.begin() + begin(side), ids_.begin() + end(side));
  };
  const auto link = [&](std::int64_t before) {
    return links_.begin() + (before == 0 ? 0 : link_ends_[static_cast<std::size_t>(before - 1)]);
  };
  return {ids(2 * pair), ids(2 * pair + 1), std::vector<TokenLink>(link(pair), link(pair + 1))};
}

std::uint64_t PairRows::fingerprint() const noexcept {
  std::uint64_t print = random_bits(static_cast<std::uint64_t>(size()), static_cast<std::uint64_t>(tokens()));
  for (const std::int64_t begin : begins_) {
    print = random_bits(print, static_cast<std::uint64_t>(begin));
  }
  for (const std::int32_t id : ids_) {
    print = random_bits(print, static_cast<std::uint64_t>(id));
  }
  if (!links_.empty()) {
    for (const std::int64_t end : link_ends_) {
      print = random_bits(print, static_cast<std::uint64_t>(end));
    }
    for (const auto& [target, source] : links_) {
      print = random_bits(print, static_cast<std::uint64_t>(target), static_cast<std::uint64_t>(source));
    }
  }
  return print;
}

PairBatch pair_batch(std::span<const PairRow> rows, const models::EncoderDecoderConfig& config) {
  const auto count = static_cast<std::int64_t>(rows.size());
  std::int64_t longest_source = 0;
  std::int64_t longest_target = 0;
  bool padded = false;
  for (const PairRow& row : rows) {
    longest_source = std::max(longest_source, length_of(row.source));
    longest_target = std::max(longest_target, length_of(row.target));
    padded = padded || row.source.size() != rows.front().source.size();
  }
  PairBatch batch;
  batch.pair.input_ids = at::full({count, longest_source}, config.pad_token_id, at::kLong);
  batch.pair.decoder_input_ids = at::full({count, longest_target}, config.pad_token_id, at::kLong);
  batch.labels = at::full({count, longest_target}, data::kIgnoredLabel, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    const PairRow& row = rows[static_cast<std::size_t>(i)];
    const auto place = [&](const at::Tensor& tensor) { return tensor.data_ptr<std::int64_t>() + i * tensor.size(1); };
    std::copy(row.source.begin(), row.source.end(), place(batch.pair.input_ids));
    std::copy(row.target.begin(), row.target.end(), place(batch.labels));
    std::int64_t* shifted = place(batch.pair.decoder_input_ids);
    shifted[0] = config.decoder_start_token_id;
    std::copy(row.target.begin(), row.target.end() - 1, shifted + 1);
  }
  if (padded) {
    batch.pair.attention_mask = at::zeros({count, longest_source}, at::kLong);
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill_n(batch.pair.attention_mask.data_ptr<std::int64_t>() + i * longest_source,
                  length_of(rows[static_cast<std::size_t>(i)].source), 1);
    }
  }
  return batch;
}

}  // namespace weft::fine_tuning
