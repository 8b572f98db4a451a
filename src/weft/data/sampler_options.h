// SPDX-License-Identifier: Apache-2.0
// What samplers of windows and of streams have in common: the shape of a step, its limits and its rows.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/data/batch.h"
#include "weft/data/token_source.h"

namespace weft::data {

/// The shape of a step and the seed of its order.
struct SamplerOptions {
  std::int64_t context = 0;     ///< tokens a row
  std::int64_t batch_size = 1;  ///< rows a batch
  std::int64_t parts = 1;       ///< batches a step (gradient accumulation)
  std::int64_t lookahead = 1;   ///< tokens after the window that labels need: 1 for a decoder, 0 for an encoder
  std::uint64_t seed = 0;
  std::int64_t stream = 0;  ///< StreamSampler: tokens that a row reads without a break; 0: as many as the text allows
  bool items = false;       ///< the source is items of context + lookahead tokens each, and a window is one of them
};

/// Errors: kArgument for context, batch_size or parts below 1, and for more than 2^31 rows a step, which the message
/// calls `what`.
void check_sampler(const SamplerOptions& options, const char* what);

/// Errors: kArgument for a step below 0 or of 2^31 and more.
void check_step(std::int64_t step);

/// int64 [batch_size, context + lookahead]: row r has the tokens from begin(r) on. Errors: as TokenSource::read.
at::Tensor rows_at(const TokenSource& source, const SamplerOptions& options,
                   const std::function<std::int64_t(std::int64_t row)>& begin);

}  // namespace weft::data
