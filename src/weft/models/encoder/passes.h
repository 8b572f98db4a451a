// SPDX-License-Identifier: Apache-2.0
// A batch through the stack of an encoder, in as many passes as its rows need: those that are too short for the
// family's sparse pattern go by themselves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/models/blueprint.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/stack/stack.h"

namespace weft::models {

/// What one call asks of the stack beyond its batch.
struct PassCall {
  DropoutSeed seed;        ///< of all dropout
  bool recompute = false;  ///< blocks run again in the backward pass
};

/// Settings of a stack, and what the last call was. No module: the stack belongs to the model.
class EncoderPasses {
 public:
  explicit EncoderPasses(PassSettings settings) : settings_(std::move(settings)) {}

  /// Hidden states in the order of the batch's rows.
  StackOutput run(StackImpl& stack, const EncoderBatch& batch, const PassCall& call);
  /// See EncoderModelImpl::computed().
  std::vector<std::pair<std::string, std::string>> computed(const StackImpl& stack) const;

 private:
  /// Rows that are all short, or all not.
  StackOutput run_part(StackImpl& stack, const EncoderBatch& batch, const PassCall& call);
  void record(const EncoderBatch& batch, const BatchParts& parts, std::int64_t padding);
  bool is_sparse() const { return settings_.full_until >= 0; }

  /// What the last call was.
  struct Record {
    std::int64_t rows = 0;
    std::int64_t short_rows = 0;
    std::int64_t padding = 0;
    bool is_bound = false;  ///< `input` of a pattern stands for a position of a row
  };

  PassSettings settings_;
  Record last_;
};

}  // namespace weft::models
