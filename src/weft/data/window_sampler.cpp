// SPDX-License-Identifier: Apache-2.0
// Which window a row shows, and batches from windows.
#include "weft/data/window_sampler.h"

#include <bit>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::data {
namespace {

// "order" and "offset" in ASCII: the two draws of an epoch are independent.
constexpr std::uint64_t kOrderStream = 0x6F72646572;
constexpr std::uint64_t kOffsetStream = 0x6F6666736574;

}  // namespace

WindowSampler::WindowSampler(std::shared_ptr<const TokenSource> source, const SamplerOptions& options)
    : source_(std::move(source)), options_(options) {
  check_sampler(options, "windows");
  const std::int64_t usable = source_->size() - options.lookahead;
  require(usable >= options.context, "context: the text must hold at least ", options.context, " + ", options.lookahead,
          " tokens, found ", source_->size());
  if (options.items) {
    stride_ = options.context + options.lookahead;
    windows_ = source_->size() / stride_;
    return;
  }
  stride_ = options.context;
  const std::int64_t whole = usable / options.context;
  // One window fewer than fit leaves a whole window of room for the start, so that every token falls on every position.
  windows_ = whole > 1 ? whole - 1 : 1;
  slack_ = usable - windows_ * options.context;
}

std::int64_t WindowSampler::window(std::int64_t step, std::int64_t part, std::int64_t row) const {
  check_step(step);
  // Rows since training began; every windows_ of them are an epoch, with a start and an order of its own.
  const std::int64_t number = (step * options_.parts + part) * options_.batch_size + row;
  const auto epoch = static_cast<std::uint64_t>(number / windows_);
  const std::uint64_t start =
      random_below(random_bits(options_.seed, epoch, kOffsetStream), static_cast<std::uint64_t>(slack_) + 1);
  const std::uint64_t place =
      permuted(static_cast<std::uint64_t>(number % windows_), static_cast<std::uint64_t>(windows_),
               random_bits(options_.seed, epoch, kOrderStream));
  return static_cast<std::int64_t>(start + place * static_cast<std::uint64_t>(stride_));
}

at::Tensor WindowSampler::tokens(std::int64_t step, std::int64_t part) const {
  return rows_at(*source_, options_, [&](std::int64_t row) { return window(step, part, row); });
}

Batch causal_batch(const at::Tensor& tokens) {
  const std::int64_t context = tokens.size(1) - 1;
  return {tokens.narrow(1, 0, context).contiguous(), tokens.narrow(1, 1, context).contiguous()};
}

std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t key) {
  require(index < count, "a place in a random order of ", count, " must be below that number, found ", index);
  // Two halves of equal width make a domain of 4^half >= count. A count of 1 has halves of no bits and one place.
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    // A Feistel round can be undone whatever its function is, so that six of them are a bijection; walking on from
    // places outside [0, count) keeps that.
    std::uint64_t left = index >> half;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = left ^ (random_bits(key, right, round) & mask);
      left = right;
      right = mixed;
    }
    index = (left << half) | right;
  } while (index >= count);
  return index;
}

}  // namespace weft::data
