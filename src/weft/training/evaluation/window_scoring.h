// SPDX-License-Identifier: Apache-2.0
// A text of any length scored through windows of a model's context: each token but the first exactly once, with at
// least half a context before it where the text has it.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace weft::training {

/// How a text is cut, and how much of it is in flight.
struct WindowOptions {
  std::int64_t context = 0;                                                  ///< tokens the model sees at once
  std::int64_t batch_tokens = 16384;                                         ///< tokens in flight; at least one window
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in tokens; may throw to stop
  std::int64_t share = 0;  ///< only batches share, share + shares, ...
  std::int64_t shares = 1;
};

/// Inputs and labels int64 [B, N] -> nats [B, N], 0 where a label is data::kIgnoredLabel.
using TokenLosses = std::function<at::Tensor(const at::Tensor& input_ids, const at::Tensor& labels)>;

/// The summed nats of tokens 1 to the last of `ids`, int64 [n], or of one share of them. Errors: kArgument for fewer
/// than two tokens or a context below 1; kNumeric when a loss is not finite.
double summed_nats(const TokenLosses& losses, const at::Tensor& ids, const WindowOptions& options);

}  // namespace weft::training
