// SPDX-License-Identifier: Apache-2.0
// Training batches as a pure function of (seed, step, part, row): the position in the data is the step, and nothing
// else needs to be saved. An epoch cuts the corpus into windows from a random start and shows each once, in random
// order.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/data/batch.h"
#include "weft/data/sampler_options.h"
#include "weft/data/token_source.h"

namespace weft::data {

/// Cuts a source into windows and says which of them a row of a batch shows.
class WindowSampler {
 public:
  /// Errors: kArgument when the corpus is shorter than one window, and for more than 2^31 windows a step.
  WindowSampler(std::shared_ptr<const TokenSource> source, const SamplerOptions& options);

  /// First token of a row's window. Errors: kArgument for a step below 0 or of 2^31 and more.
  std::int64_t window(std::int64_t step, std::int64_t part, std::int64_t row) const;
  /// int64 [batch_size, context + lookahead] for one part of a step.
  at::Tensor tokens(std::int64_t step, std::int64_t part) const;
  /// Windows shown before any is shown again.
  std::int64_t windows_per_epoch() const noexcept { return windows_; }
  const SamplerOptions& options() const noexcept { return options_; }
  const TokenSource& source() const noexcept { return *source_; }

 private:
  std::shared_ptr<const TokenSource> source_;
  SamplerOptions options_;
  std::int64_t windows_ = 0;
  std::int64_t slack_ = 0;
  std::int64_t stride_ = 0;  // tokens from a window to the next
};

/// Next-token batch from tokens [B, context + 1]: inputs are the first `context`, labels the last.
Batch causal_batch(const at::Tensor& tokens);

/// Where `index` goes in the order that `key` names: a bijection of [0, count). Errors: kArgument unless index < count,
/// as the walk would never end.
std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t key);

}  // namespace weft::data
