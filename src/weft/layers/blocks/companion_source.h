// SPDX-License-Identifier: Apache-2.0
// Where the first companions of a text come from: numbers that the model learned, ids that the call brings, or the
// text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <torch/nn/module.h>

#include "weft/layers/block_config.h"
#include "weft/layers/blocks/rows.h"

namespace weft::layers {

/// What a call brings for its companions. The family that makes it and the source that reads it know the type; whoever
/// passes it on chooses and pads rows, as those of the text.
class CompanionInput {
 public:
  CompanionInput() = default;
  CompanionInput(const CompanionInput&) = default;
  CompanionInput& operator=(const CompanionInput&) = default;
  virtual ~CompanionInput() = default;

  /// The rows of the batch that `rows`, int64 [B'], names.
  virtual std::shared_ptr<const CompanionInput> chosen(const at::Tensor& rows) const = 0;
  /// With `columns` tokens of padding behind the text.
  virtual std::shared_ptr<const CompanionInput> padded(std::int64_t columns) const = 0;
};

/// Made with a stack, in whose module tree it registers what it learns.
class CompanionSource {
 public:
  CompanionSource() = default;
  CompanionSource(const CompanionSource&) = delete;
  CompanionSource& operator=(const CompanionSource&) = delete;
  virtual ~CompanionSource() = default;

  /// The text [B, N, hidden] as block 0 sees it, and its companions. `input` may be null. Sets `companions` and
  /// `structure` of the context's attention, for blocks that need them. Errors: kArgument for an input that does not
  /// fit.
  virtual Rows first(const at::Tensor& text, const CompanionInput* input, BlockContext& context) = 0;
  /// Whether what becomes of them is a result of the stack.
  virtual bool gives_result() const = 0;
};

/// Makes the source of a stack, `owner`, whose embeddings have `hidden` columns. Storage only.
using CompanionFactory = std::function<std::unique_ptr<CompanionSource>(torch::nn::Module& owner, std::int64_t hidden,
                                                                        const at::TensorOptions& options)>;

}  // namespace weft::layers
