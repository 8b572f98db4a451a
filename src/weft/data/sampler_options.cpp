// SPDX-License-Identifier: Apache-2.0
// Rows and steps are numbered in 31 bits each, so that all rows of a training have numbers of 63 bits.
#include "weft/data/sampler_options.h"

#include <ATen/ops/empty.h>

#include "weft/core/error.h"

namespace weft::data {
namespace {

constexpr std::int64_t kMostRowsOfAStep = std::int64_t{1} << 31;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 31;

}  // namespace

void check_sampler(const SamplerOptions& options, const char* what) {
  require(options.context >= 1 && options.batch_size >= 1 && options.parts >= 1 && options.lookahead >= 0,
          "a sampler needs context, batch_size and parts of at least 1, found ", options.context, ", ",
          options.batch_size, ", ", options.parts);
  require(options.parts <= kMostRowsOfAStep / options.batch_size, "a step has batch_size ", options.batch_size,
          " times ", options.parts, " ", what, ", at most ", kMostRowsOfAStep, " are allowed");
}

void check_step(std::int64_t step) {
  require(step >= 0 && step < kMostSteps, "a step must be 0 to 2^31 - 1, found ", step);
}

at::Tensor rows_at(const TokenSource& source, const SamplerOptions& options,
                   const std::function<std::int64_t(std::int64_t row)>& begin) {
  const std::int64_t length = options.context + options.lookahead;
  at::Tensor result = at::empty({options.batch_size, length}, at::kLong);
  auto* ids = result.mutable_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < options.batch_size; ++row) {
    source.read(begin(row), {ids + row * length, static_cast<std::size_t>(length)});
  }
  return result;
}

}  // namespace weft::data
