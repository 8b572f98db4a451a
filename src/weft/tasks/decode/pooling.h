// SPDX-License-Identifier: Apache-2.0
// One vector for a text out of its tokens' vectors, also where several windows have them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::tasks {

/// The mean over all tokens, special ones included, as sentence-transformers takes it; or the first token's.
enum class Pooling { kMean, kCls };

/// "mean" or "cls". Errors: kArgument for another name.
Pooling parse_pooling(std::string_view name);

/// What one window brings to the vector of its text: the sum of some rows.
struct PooledPart {
  std::vector<double> sum;
  std::int64_t rows = 0;
};

/// The rows [begin, end) of `hidden` [tokens, width]; with kCls its first row, whatever the range. Errors: kArgument
/// when `hidden` has no whole row.
PooledPart pool_part(std::span<const float> hidden, std::int64_t width, Pooling pooling, std::int64_t begin,
                     std::int64_t end);

/// The mean over the rows of all parts, in their order. With `normalize` the result has length 1 (a vector of zeros
/// stays one). Errors: kArgument for parts without a row.
std::vector<float> pool_parts(std::span<const PooledPart> parts, bool normalize);

/// A text that is one window. `hidden` is [tokens, width], row-major, without padding. With `normalize` the result has
/// length 1 (a vector of zeros stays one). Errors: kArgument when `hidden` has no whole row.
std::vector<float> pool(std::span<const float> hidden, std::int64_t width, Pooling pooling, bool normalize);

}  // namespace weft::tasks
