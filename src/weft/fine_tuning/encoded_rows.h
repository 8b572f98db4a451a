// SPDX-License-Identifier: Apache-2.0
// Tokenised rows of a data set: five bytes a token, so that a set of many millions of tokens stays in memory while its
// texts do not. What is beyond that lies in a file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/disk/spilled_bytes.h"
#include "weft/models/encoder_model.h"
#include "weft/text/encoding.h"
#include "weft/text/pair_places.h"

namespace weft::fine_tuning {

/// How rows become a batch.
struct Padding {
  std::int64_t id = 0;      ///< of the token that fills up shorter rows; the mask says where
  bool token_types = true;  ///< whether the model is given them
};

/// One row, as wide as the model's input has it.
struct TokenRow {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> types;
  text::PairPlaces places = {};            ///< of the two texts, where it is a pair
  std::vector<std::int64_t> globals = {};  ///< tokens that a pattern's `input` stands for, ascending
};

/// Rows as one batch, int64 [rows, longest]: ids, mask, token types where they are wanted, [rows, 2] places of the
/// texts, and where a row has any the global tokens of all.
models::EncoderInput padded(std::span<const TokenRow> rows, const Padding& padding);

class EncodedRows {
 public:
  EncodedRows() = default;
  /// So many bytes of ids stay in memory, and as many of token types; more go to a file (SpilledBytes).
  explicit EncodedRows(std::size_t most_in_memory) : ids_("tokens", most_in_memory), types_("types", most_in_memory) {}

  /// Appends the tokens of one window, of which those at `globals`, ascending, are global. Errors: kArgument for one
  /// without tokens; kIo where the disk is full.
  void add(const text::Encoding& window, std::span<const std::int64_t> globals = {});

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(begins_.size()) - 1; }
  std::int64_t length(std::int64_t row) const;
  /// Of all rows together.
  std::int64_t tokens() const noexcept { return begins_.back(); }
  /// Whether a row has global tokens.
  bool has_globals() const noexcept { return !globals_.empty(); }
  /// Errors: kIo where the file cannot be read.
  TokenRow row(std::int64_t number) const;
  /// A number that tells two sets apart, over all ids in their order. Errors: as row().
  std::uint64_t fingerprint() const;

 private:
  struct Tokens {
    std::vector<std::int32_t> ids;
    std::vector<std::uint8_t> types;
  };
  Tokens tokens_of(std::int64_t row) const;

  SpilledBytes ids_{"tokens"};  // int32 each
  SpilledBytes types_{"types"};
  std::vector<std::int64_t> begins_ = {0};
  std::vector<text::PairPlaces> places_;  // of each row
  std::vector<std::int32_t> globals_;     // of all rows, one behind the other
  std::vector<std::size_t> global_begins_ = {0};
};

}  // namespace weft::fine_tuning
