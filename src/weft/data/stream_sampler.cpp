// SPDX-License-Identifier: Apache-2.0
// Where a stream begins, and batches from streams.
#include "weft/data/stream_sampler.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/data/window_sampler.h"

namespace weft::data {
namespace {

// "stream" and "turns" in ASCII: the two draws of an epoch are independent.
constexpr std::uint64_t kStreamStart = 0x73747265616D;
constexpr std::uint64_t kStreamOrder = 0x7475726E73;

}  // namespace

StreamSampler::StreamSampler(std::shared_ptr<const TokenSource> source, const SamplerOptions& options)
    : source_(std::move(source)), options_(options) {
  check_sampler(options, "rows");
  const std::int64_t rows = options.parts * options.batch_size;
  const std::int64_t usable = source_->size() - options.lookahead;
  require(usable / options.context >= rows, "context: each of the ", rows,
          " rows of a step reads a stream of its own, so that the text must hold at least ", rows, " times ",
          options.context, " + ", options.lookahead, " tokens, found ", source_->size());
  segments_ = usable / rows / options.context;
  if (options.stream > 0) {
    segments_ = std::min(segments_, std::max<std::int64_t>(1, options.stream / options.context));
  }
  streams_ = usable / (segments_ * options.context);
  turns_ = streams_ / rows;
  slack_ = usable - segments_ * options.context * streams_;
}

std::int64_t StreamSampler::segment(std::int64_t step, std::int64_t part, std::int64_t row) const {
  check_step(step);
  const std::int64_t turn = step / segments_;
  const auto epoch = static_cast<std::uint64_t>(turn / turns_);
  const auto start = static_cast<std::int64_t>(
      random_below(random_bits(options_.seed, epoch, kStreamStart), static_cast<std::uint64_t>(slack_) + 1));
  const std::int64_t number = (turn % turns_ * options_.parts + part) * options_.batch_size + row;
  const auto stream =
      static_cast<std::int64_t>(permuted(static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(streams_),
                                         random_bits(options_.seed, epoch, kStreamOrder)));
  return start + (stream * segments_ + step % segments_) * options_.context;
}

at::Tensor StreamSampler::tokens(std::int64_t step, std::int64_t part) const {
  return rows_at(*source_, options_, [&](std::int64_t row) { return segment(step, part, row); });
}

}  // namespace weft::data
