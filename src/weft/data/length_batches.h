// SPDX-License-Identifier: Apache-2.0
// Batches of examples of different lengths under a budget of tokens: neighbours in length share a batch, so that little
// is padding, and the batches come in random order; or, where the examples of a batch are compared with each other,
// whatever comes next shares one. Which examples a batch holds is a pure function of seed and number.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::data {

/// The size of a batch and the seed of the order.
struct LengthBatchOptions {
  std::int64_t tokens = 16384;  ///< a batch: rows times the longest of them
  std::int64_t rows = 0;        ///< at most so many rows; 0 for no limit
  std::int64_t pool = 100;  ///< batches' worth of examples that are sorted together; 1 keeps the random order, and 0
                            ///< too, over a whole epoch: every batch but its last one is full
  std::int64_t least = 1;   ///< examples of a batch, also where they are beyond the budget: fewer that are left over
                            ///< at the end join the batch before
  std::uint64_t seed = 0;
};

/// Batches over epochs without end; each epoch shows each example once.
class LengthBatches {
 public:
  /// `lengths` in tokens, one an example. Errors: kArgument for no example, a length below 1 or above the budget,
  /// naming the example. `second` is another length of each example, not counted: examples of equal length are sorted
  /// by it, so that both sides of a pair have little padding; empty where there is none.
  LengthBatches(std::vector<std::int32_t> lengths, const LengthBatchOptions& options,
                std::vector<std::int32_t> second = {});

  /// The examples of batch `number`, counted from 0 over all epochs. Batches in order are cheap; another epoch is made
  /// anew.
  const std::vector<std::int64_t>& batch(std::int64_t number);
  /// The number of the first batch of `epoch`: as many batches as the epochs before it have.
  std::int64_t first_batch(std::int64_t epoch);
  /// The epoch that batch `number` belongs to.
  std::int64_t epoch(std::int64_t number);

 private:
  void open(std::int64_t number);
  std::vector<std::vector<std::int64_t>> make_epoch(std::int64_t epoch) const;
  void cut(std::vector<std::int64_t>& pool, std::vector<std::vector<std::int64_t>>& batches) const;

  std::vector<std::int32_t> lengths_;
  std::vector<std::int32_t> second_;
  LengthBatchOptions options_;
  std::vector<std::int64_t> begins_ = {0};  ///< the first batch of each epoch known so far
  std::int64_t open_ = -1;                  ///< the epoch that batches_ holds
  std::vector<std::vector<std::int64_t>> batches_;
};

}  // namespace weft::data
