// SPDX-License-Identifier: Apache-2.0
// Training batches whose rows go on where they ended in the step before: what a model with a memory learns from. The
// place in the data is a pure function of (seed, step), as for windows in random order.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/data/sampler_options.h"
#include "weft/data/token_source.h"

namespace weft::data {

/// Cuts a source into streams of equal length, at least as many as a step has rows (batch_size * parts). A row reads a
/// stream from its beginning to its end, a segment of `context` tokens a step; then it reads another one. An epoch
/// shows each stream at most once, in random order, and begins at a random token of the source, so that the segments of
/// two epochs differ. Short streams show more places of the source in the same number of steps.
class StreamSampler {
 public:
  /// Errors: kArgument when the corpus has not a segment for each row, and as WindowSampler.
  StreamSampler(std::shared_ptr<const TokenSource> source, const SamplerOptions& options);

  /// First token of a row's segment. Errors: kArgument for a step below 0 or of 2^31 and more.
  std::int64_t segment(std::int64_t step, std::int64_t part, std::int64_t row) const;
  /// int64 [batch_size, context + lookahead] for one part of a step.
  at::Tensor tokens(std::int64_t step, std::int64_t part) const;
  /// Whether the rows of this step go on behind those of the step before; else each begins a stream.
  bool goes_on(std::int64_t step) const noexcept { return step % segments_ != 0; }
  /// Steps from the beginning of a stream to its end.
  std::int64_t segments_per_stream() const noexcept { return segments_; }
  std::int64_t streams() const noexcept { return streams_; }
  const TokenSource& source() const noexcept { return *source_; }

 private:
  std::shared_ptr<const TokenSource> source_;
  SamplerOptions options_;
  std::int64_t segments_ = 0;  // of a stream
  std::int64_t streams_ = 0;
  std::int64_t turns_ = 0;  // streams that a row reads in an epoch
  std::int64_t slack_ = 0;
};

}  // namespace weft::data
