// SPDX-License-Identifier: Apache-2.0
// A table has a row for each distance and no batch: its mask is made of one Philox draw for four numbers.
#include "weft/attention/mechanisms/relative/wave_dropout.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "weft/core/random.h"

namespace weft::attention {

at::Tensor dropped_waves(const at::Tensor& waves, std::int64_t nearest, double probability, std::uint64_t seed) {
  constexpr std::int64_t kNumbersOfADraw = 4;
  constexpr std::int64_t kRowsOfATask = 16;
  const std::int64_t width = waves.size(1);
  const double scale = 1.0 / (1.0 - probability);
  at::Tensor factors = at::empty({waves.size(0), width}, at::kDouble);
  auto* const out = factors.mutable_data_ptr<double>();
  at::parallel_for(0, waves.size(0), kRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    Philox4 draw{};
    for (std::int64_t row = begin; row < end; ++row) {
      const auto distance = static_cast<std::uint64_t>(nearest + row);
      for (std::int64_t column = 0; column < width; ++column) {
        if (column % kNumbersOfADraw == 0) {
          draw = philox(seed, static_cast<std::uint64_t>(column / kNumbersOfADraw), distance);
        }
        const bool kept = static_cast<double>(random_unit(draw.value[column % kNumbersOfADraw])) >= probability;
        out[row * width + column] = kept ? scale : 0.0;
      }
    }
  });
  return waves * factors.to(waves.options());
}

}  // namespace weft::attention
