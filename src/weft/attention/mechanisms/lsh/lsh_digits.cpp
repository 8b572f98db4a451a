// SPDX-License-Identifier: Apache-2.0
// Digits of base 128, the lowest of all rounds first.
#include "weft/attention/mechanisms/lsh/lsh_digits.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <vector>

namespace weft::attention {
namespace {

constexpr std::int64_t kDigit = 128;  // every smaller whole number is exact in bfloat16, the narrowest dtype of a state

}  // namespace

std::int64_t digits_for(std::int64_t largest) {
  std::int64_t digits = 1;
  for (std::int64_t rest = largest / kDigit; rest > 0; rest /= kDigit) {
    ++digits;
  }
  return digits;
}

at::Tensor digits_of(const at::Tensor& numbers, std::int64_t digits, const at::Tensor& like) {
  std::vector<at::Tensor> columns;
  at::Tensor rest = numbers.transpose(2, 3);
  for (std::int64_t i = 0; i < digits; ++i) {
    columns.push_back(rest.remainder(kDigit));
    rest = rest.floor_divide(kDigit);
  }
  return at::cat(columns, -1).to(like.scalar_type());
}

at::Tensor numbers_of_digits(const at::Tensor& columns, std::int64_t digits) {
  const std::int64_t rounds = columns.size(-1) / digits;
  at::Tensor numbers = columns.narrow(-1, 0, rounds).to(at::kLong);
  for (std::int64_t i = 1, unit = kDigit; i < digits; ++i, unit *= kDigit) {
    numbers = numbers + columns.narrow(-1, i * rounds, rounds).to(at::kLong) * unit;
  }
  return numbers.transpose(2, 3);
}

}  // namespace weft::attention
