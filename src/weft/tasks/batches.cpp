// SPDX-License-Identifier: Apache-2.0
// The longest first: if memory does not suffice, that shows at once.
#include "weft/tasks/batches.h"

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"

namespace weft::tasks {

std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::int64_t> lengths,
                                                        const BatchLimits& limits) {
  require(limits.rows >= 1 && limits.tokens >= 1, "a batch has at least 1 row and 1 token, found ", limits.rows,
          " and ", limits.tokens);
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t left, std::size_t right) { return lengths[left] > lengths[right]; });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t longest = 0;
  for (const std::size_t index : order) {
    const std::int64_t rows = batches.empty() ? 0 : static_cast<std::int64_t>(batches.back().size());
    if (rows == 0 || rows == limits.rows || (rows + 1) * longest > limits.tokens) {
      batches.emplace_back();
      longest = lengths[index];
    }
    batches.back().push_back(index);
  }
  return batches;
}

}  // namespace weft::tasks
