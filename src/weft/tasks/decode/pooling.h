// SPDX-License-Identifier: Apache-2.0
// One vector for a text out of its tokens' vectors.
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

/// `hidden` is [tokens, width], row-major, without padding. With `normalize` the result has length 1 (a vector of zeros
/// stays one). Errors: kArgument when `hidden` has no whole row.
std::vector<float> pool(std::span<const float> hidden, std::int64_t width, Pooling pooling, bool normalize);

}  // namespace weft::tasks
