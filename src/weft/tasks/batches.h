// SPDX-License-Identifier: Apache-2.0
// Which windows run together: those of about one length, so that little is padded. Results do not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::tasks {

struct BatchLimits {
  std::int64_t rows = 8;        ///< of a batch
  std::int64_t tokens = 16384;  ///< of a batch with its padding; one row always fits
};

/// The indices of `lengths` in batches, longest first; equal lengths keep their order. Errors: kArgument for limits
/// below 1.
std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::int64_t> lengths,
                                                        const BatchLimits& limits);

}  // namespace weft::tasks
