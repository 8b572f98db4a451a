// SPDX-License-Identifier: Apache-2.0
// A batch through the stack of an encoder, in as many passes as its rows need: those that are too short for the
// family's sparse pattern go by themselves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/models/encoder/batch.h"
#include "weft/models/stack/stack.h"

namespace weft::models {

/// What one call asks of the stack beyond its batch.
struct PassCall {
  std::uint64_t seed = 0;  ///< of all dropout
  bool recompute = false;  ///< blocks run again in the backward pass
};

/// Settings of a config for its stack, and what the last call was. No module: the stack belongs to the model.
class EncoderPasses {
 public:
  /// `config` has been validated.
  EncoderPasses(const EncoderConfig& config, const EncoderOptions& options);

  /// -> [R, N, hidden].
  at::Tensor run(StackImpl& stack, const EncoderBatch& batch, const PassCall& call);
  /// See EncoderModelImpl::computed().
  std::vector<std::pair<std::string, std::string>> computed(const StackImpl& stack) const;

 private:
  /// Rows that are all short, or all not.
  at::Tensor run_part(StackImpl& stack, const EncoderBatch& batch, const PassCall& call) const;
  void record(const EncoderBatch& batch, const BatchParts& parts, std::int64_t padding);
  bool is_sparse() const { return full_until_ >= 0; }

  /// What the last call was.
  struct Record {
    std::int64_t rows = 0;
    std::int64_t short_rows = 0;
    std::int64_t padding = 0;
  };

  EncoderOptions options_;
  std::int64_t full_until_ = -1;
  std::int64_t block_ = 1;  ///< of pad_like_hf
  std::int64_t padding_id_ = 0;
  std::int64_t position_rows_ = 0;
  bool zeroes_padding_ = false;
  Record last_;
};

}  // namespace weft::models
