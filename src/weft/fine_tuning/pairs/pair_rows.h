// SPDX-License-Identifier: Apache-2.0
// Tokenised pairs, four bytes a token, and batches of them as an encoder-decoder is shown them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/models/encoder_decoder.h"

namespace weft::fine_tuning {

/// A token of the target and one of the source whose words belong together.
struct TokenLink {
  std::int32_t target = 0;
  std::int32_t source = 0;
  auto operator<=>(const TokenLink&) const = default;
};

/// The two sides of a pair, each with its end token.
struct PairRow {
  std::vector<std::int64_t> source;
  std::vector<std::int64_t> target;
  std::vector<TokenLink> links = {};  ///< sorted; none where nothing is aligned
};

class PairRows {
 public:
  void add(const PairRow& row);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(begins_.size() / 2); }
  std::int64_t source_length(std::int64_t pair) const { return end(2 * pair) - begin(2 * pair); }
  std::int64_t target_length(std::int64_t pair) const { return end(2 * pair + 1) - begin(2 * pair + 1); }
  /// Of all pairs, both sides.
  std::int64_t tokens() const noexcept { return static_cast<std::int64_t>(ids_.size()); }
  PairRow row(std::int64_t pair) const;
  /// Of all pairs.
  std::int64_t links() const noexcept { return static_cast<std::int64_t>(links_.size()); }
  /// A number that tells two sets apart, over all ids and links in their order.
  std::uint64_t fingerprint() const noexcept;

 private:
  std::int64_t begin(std::int64_t side) const { return begins_.at(static_cast<std::size_t>(side)); }
  std::int64_t end(std::int64_t side) const { return side + 1 < 2 * size() ? begin(side + 1) : tokens(); }

  std::vector<std::int32_t> ids_;
  std::vector<std::int64_t> begins_;  // of each source and each target, in turn
  std::vector<TokenLink> links_;
  std::vector<std::int64_t> link_ends_;  // of each pair
};

/// What a call of the model is given, and what it should say.
struct PairBatch {
  models::SequencePair pair;
  at::Tensor labels;  ///< int64 [B, N], data::kIgnoredLabel behind a target's end
};

/// Rows as one batch: sources [B, S] with their mask, undefined where all are equally long; targets shifted right
/// behind decoder_start_token_id. The target needs no mask: what stands behind an end is seen by nothing in front of
/// it.
PairBatch pair_batch(std::span<const PairRow> rows, const models::EncoderDecoderConfig& config);

}  // namespace weft::fine_tuning
