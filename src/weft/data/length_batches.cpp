// SPDX-License-Identifier: Apache-2.0
// An epoch: a random order, cut into pools, each sorted by length and cut into batches, the batches in random order.
#include "weft/data/length_batches.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/data/window_sampler.h"

namespace weft::data {
namespace {

// "lengths" and "batches" in ASCII: the order of examples and that of batches are independent.
constexpr std::uint64_t kExampleStream = 0x6C656E67746873;
constexpr std::uint64_t kBatchStream = 0x62617463686573;

}  // namespace

LengthBatches::LengthBatches(std::vector<std::int32_t> lengths, const LengthBatchOptions& options,
                             std::vector<std::int32_t> second)
    : lengths_(std::move(lengths)), second_(std::move(second)), options_(options) {
  require(second_.empty() || second_.size() == lengths_.size(), "batches need as many second lengths as examples, ",
          lengths_.size(), ", found ", second_.size());
  require(!lengths_.empty(), "batches need at least one example, found none");
  require(options_.tokens >= 1 && options_.rows >= 0 && options_.pool >= 0,
          "batches need tokens of at least 1 and a pool of at least 0, found ", options_.tokens, " and ",
          options_.pool);
  require(options_.least >= 1 && (options_.rows == 0 || options_.least <= options_.rows),
          "batches need at least 1 example and at most ", options_.rows, ", found at least ", options_.least);
  for (std::size_t i = 0; i < lengths_.size(); ++i) {
    require(lengths_[i] >= 1 && lengths_[i] <= options_.tokens, "example ", i, " must have 1 to ", options_.tokens,
            " tokens (the budget of a batch), found ", lengths_[i]);
  }
}

// Sorted by length, then greedily: the next example joins while rows times the longest stays within the budget.
void LengthBatches::cut(std::vector<std::int64_t>& pool, std::vector<std::vector<std::int64_t>>& batches) const {
  const auto length = [this](std::int64_t example) { return lengths_[static_cast<std::size_t>(example)]; };
  if (options_.pool > 1) {
    const auto key = [&](std::int64_t example) {
      return std::pair(length(example), second_.empty() ? 0 : second_[static_cast<std::size_t>(example)]);
    };
    std::stable_sort(pool.begin(), pool.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  }
  std::vector<std::int64_t> batch;
  std::int64_t longest = 0;
  for (const std::int64_t example : pool) {
    const std::int64_t would = std::max<std::int64_t>(longest, length(example));
    const auto rows = static_cast<std::int64_t>(batch.size()) + 1;
    const bool is_full = rows * would > options_.tokens || (options_.rows > 0 && rows > options_.rows);
    if (is_full && rows > options_.least) {
      batches.push_back(std::exchange(batch, {}));
      longest = 0;
    }
    batch.push_back(example);
    longest = std::max<std::int64_t>(longest, length(example));
  }
  if (std::ssize(batch) < options_.least && !batches.empty()) {
    batches.back().insert(batches.back().end(), batch.begin(), batch.end());
  } else if (!batch.empty()) {
    batches.push_back(std::move(batch));
  }
}

std::vector<std::vector<std::int64_t>> LengthBatches::make_epoch(std::int64_t epoch) const {
  const auto count = static_cast<std::uint64_t>(lengths_.size());
  const std::uint64_t order = random_bits(options_.seed, static_cast<std::uint64_t>(epoch), kExampleStream);
  std::vector<std::vector<std::int64_t>> sorted;
  std::vector<std::int64_t> pool;
  std::int64_t tokens = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto example = static_cast<std::int64_t>(permuted(i, count, order));
    pool.push_back(example);
    tokens += lengths_[static_cast<std::size_t>(example)];
    if ((options_.pool > 0 && tokens >= options_.tokens * options_.pool) || i + 1 == count) {
      cut(pool, sorted);
      pool.clear();
      tokens = 0;
    }
  }
  const std::uint64_t shuffle = random_bits(options_.seed, static_cast<std::uint64_t>(epoch), kBatchStream);
  std::vector<std::vector<std::int64_t>> shuffled(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    shuffled[i] = std::move(sorted[permuted(i, sorted.size(), shuffle)]);
  }
  return shuffled;
}

// Makes the epoch of batch `number` the open one. How many batches an epoch has is known once it was made.
void LengthBatches::open(std::int64_t number) {
  require(number >= 0, "a batch's number must be at least 0, found ", number);
  while (begins_.back() <= number) {
    open_ = static_cast<std::int64_t>(begins_.size()) - 1;
    batches_ = make_epoch(open_);
    begins_.push_back(begins_.back() + static_cast<std::int64_t>(batches_.size()));
  }
  const auto behind = std::upper_bound(begins_.begin(), begins_.end(), number);
  const auto epoch = std::distance(begins_.begin(), behind) - 1;
  if (epoch != open_) {
    open_ = epoch;
    batches_ = make_epoch(epoch);
  }
}

const std::vector<std::int64_t>& LengthBatches::batch(std::int64_t number) {
  open(number);
  return batches_[static_cast<std::size_t>(number - begins_[static_cast<std::size_t>(open_)])];
}

std::int64_t LengthBatches::first_batch(std::int64_t epoch) {
  require(epoch >= 0, "an epoch must be at least 0, found ", epoch);
  while (static_cast<std::int64_t>(begins_.size()) <= epoch) {
    open(begins_.back());
  }
  return begins_[static_cast<std::size_t>(epoch)];
}

std::int64_t LengthBatches::epoch(std::int64_t number) {
  open(number);
  return open_;
}

}  // namespace weft::data
