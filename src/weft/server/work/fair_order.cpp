// SPDX-License-Identifier: Apache-2.0
// Rounds are counted and not walked: a request may need very many.
#include "weft/server/work/fair_order.h"

#include <algorithm>

namespace weft::server {
namespace {

constexpr std::int64_t kShortPart = 16;

}  // namespace

std::size_t FairOrder::size_of(std::int64_t bytes) const {
  if (bytes > batch_bytes_) {
    return 2;
  }
  return bytes > batch_bytes_ / kShortPart ? 1 : 0;
}

std::size_t FairOrder::next(const Heads& heads) {
  std::optional<std::int64_t> fewest;
  std::size_t chosen = 0;
  for (std::size_t step = 1; step <= kSizes; ++step) {  // the one behind the last comes first where two are equal
    const std::size_t size = (last_ + step) % kSizes;
    if (!heads[size]) {
      saved_[size] = 0;
      continue;
    }
    const std::int64_t missing = std::max<std::int64_t>(*heads[size] - saved_[size], 0);
    const std::int64_t rounds = (missing + batch_bytes_ - 1) / batch_bytes_;
    if (!fewest || rounds < *fewest) {
      fewest = rounds;
      chosen = size;
    }
  }
  for (std::size_t size = 0; size < kSizes; ++size) {
    saved_[size] += heads[size] ? *fewest * batch_bytes_ : 0;
  }
  last_ = chosen;
  return chosen;
}

void FairOrder::pay(std::int64_t bytes) { saved_[size_of(bytes)] -= bytes; }

}  // namespace weft::server
