// SPDX-License-Identifier: Apache-2.0
// The encoder below its head: embeddings and post-norm blocks, the same for every family.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "weft/layers/embeddings.h"
#include "weft/layers/transformer_block.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/families/family.h"

namespace weft::models {

/// What one call asks of the stack beside its batch.
struct StackCall {
  std::uint64_t seed = 0;  ///< of all dropout
  bool recompute = false;  ///< blocks run again in the backward pass
};

/// The module tree is embeddings and layers.0 to layers.L-1.
class EncoderStackImpl : public torch::nn::Module {
 public:
  /// Storage only. `config` has been validated. Errors: kExpression for a mechanism string.
  EncoderStackImpl(const EncoderConfig& config, const EncoderOptions& encoder, const at::TensorOptions& options);

  /// -> [R, N, hidden].
  at::Tensor forward(const EncoderBatch& batch, const StackCall& call);
  /// See EncoderModelImpl::computed().
  std::vector<std::pair<std::string, std::string>> computed() const;

  layers::Embeddings embeddings{nullptr};

 private:
  /// Rows that are all short, or all not.
  at::Tensor run(const EncoderBatch& batch, const StackCall& call);
  void record(const EncoderBatch& batch, const BatchParts& parts, std::int64_t padding);
  bool is_sparse() const { return full_until_ >= 0; }

  /// What the last call was.
  struct Record {
    std::int64_t rows = 0;
    std::int64_t short_rows = 0;
    std::int64_t padding = 0;
  };

  EncoderConfig config_;
  EncoderOptions options_;
  std::int64_t full_until_;
  bool bind_ = false;  ///< some layer's pattern asks for positions
  std::vector<layers::TransformerBlock> layers_;
  Record last_;
};
TORCH_MODULE(EncoderStack);

}  // namespace weft::models
