// SPDX-License-Identifier: Apache-2.0
// What a product is given: a left and a right operand, where the result goes, and what becomes of each sum.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// left(row, step) = data[row * row_stride + step * step_stride].
template <typename Unit>
struct Operand {
  const Unit* data;
  std::int64_t row_stride;
  std::int64_t step_stride;

  [[gnu::always_inline]] Operand from_row(std::int64_t row) const noexcept {
    return {data + row * row_stride, row_stride, step_stride};
  }
  [[gnu::always_inline]] Operand from_step(std::int64_t step) const noexcept {
    return {data + step * step_stride, row_stride, step_stride};
  }
};

template <typename Unit>
struct Factors {
  Operand<Unit> left;
  const Unit* right;
  std::int64_t right_stride;
  std::int64_t steps;  ///< in units
};

/// Products that are summed before anything becomes of them: left operands of the same rows.
template <typename Unit>
struct FactorList {
  const Factors<Unit>* first;
  std::int64_t count;
};

/// A result of `rows` rows of `vectors` vectors.
struct Result {
  float* data;
  std::int64_t row_stride;
  std::int64_t rows;
  std::int64_t vectors;
};

/// What becomes of a finished sum: result = scale * sum.
template <class Isa>
struct Scaled {
  typename Isa::Vector scale;
  [[gnu::always_inline]] void operator()(float* to, std::int64_t, typename Isa::Vector sum) const noexcept {
    Isa::store(to, Isa::multiply(scale, sum));
  }
};

/// result = sum.
template <class Isa>
struct Stored {
  [[gnu::always_inline]] void operator()(float* to, std::int64_t, typename Isa::Vector sum) const noexcept {
    Isa::store(to, sum);
  }
};

/// result += scale * sum.
template <class Isa>
struct ScaledAdded {
  typename Isa::Vector scale;
  [[gnu::always_inline]] void operator()(float* to, std::int64_t, typename Isa::Vector sum) const noexcept {
    Isa::store(to, Isa::multiply_add(scale, sum, Isa::load(to)));
  }
};

/// result += sum.
template <class Isa>
struct Added {
  [[gnu::always_inline]] void operator()(float* to, std::int64_t, typename Isa::Vector sum) const noexcept {
    Isa::store(to, Isa::add(Isa::load(to), sum));
  }
};

/// result = factor of the column * result + sum: an online softmax whose maximum grew.
template <class Isa>
struct Rescaled {
  const float* factors;
  [[gnu::always_inline]] void operator()(float* to, std::int64_t column, typename Isa::Vector sum) const noexcept {
    Isa::store(to, Isa::multiply_add(Isa::load(to), Isa::load(factors + column), sum));
  }
};

}  // namespace weft::kernels
