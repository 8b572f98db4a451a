// SPDX-License-Identifier: Apache-2.0
// Norms of rows in the vectors of one instruction set. A row is read from memory once, as float32 numbers that stay in
// the first-level cache until it is written.
#pragma once

#include <cstdint>

#include "weft/kernels/fused/matrix.h"
#include "weft/kernels/norm/row_norm.h"
#include "weft/kernels/storage.h"

namespace weft::kernels {

template <class Isa, class Storage>
class NormPass {
  using Memory = typename Storage::Memory;
  using Vector = typename Isa::Vector;

 public:
  explicit NormPass(const RowNorm& call) noexcept
      : call_(call), whole_(call.width / Isa::kLanes * Isa::kLanes), rest_(call.width - whole_) {
    widen_row(static_cast<const Memory*>(call.weight), weight_);
    if (call.bias != nullptr) {
      widen_row(static_cast<const Memory*>(call.bias), bias_);
    }
  }

  void run() noexcept {
    const auto* x = static_cast<const Memory*>(call_.x);
    const auto* added = static_cast<const Memory*>(call_.added);
    auto* output = static_cast<Memory*>(call_.output);
    for (std::int64_t row = 0; row < call_.rows; ++row, x += call_.width, output += call_.width) {
      if (added != nullptr) {
        add_rows(x, added + row * call_.width);
      } else {
        widen_row(x, row_);
      }
      if (call_.is_root) {
        write_root(output);
      } else {
        write_layer(output);
      }
    }
  }

 private:
  // work(column, numbers that exist) for the vectors of a row.
  template <typename Work>
  [[gnu::always_inline]] void each_vector(const Work& work) const noexcept {
    for (std::int64_t column = 0; column < whole_; column += Isa::kLanes) {
      work(column, Isa::kLanes);
    }
    if (rest_ > 0) {
      work(whole_, rest_);
    }
  }

  // Zeros up to a whole vector.
  [[gnu::always_inline]] void widen_row(const Memory* from, float* to) const noexcept {
    each_vector([&](std::int64_t column, std::int64_t count) {
      Isa::store(to + column, widen_part<Isa>(from + column, count));
    });
  }

  [[gnu::always_inline]] void add_rows(const Memory* x, const Memory* added) noexcept {
    each_vector([&](std::int64_t column, std::int64_t count) {
      const Vector sum = Isa::add(widen_part<Isa>(x + column, count), widen_part<Isa>(added + column, count));
      Isa::store(row_ + column, rounded(sum));
    });
  }

  [[gnu::always_inline]] void write_layer(Memory* to) const noexcept {
    const Vector mean = Isa::set(mean_of([&](std::int64_t column, std::int64_t) { return Isa::load(row_ + column); }));
    const float variance = mean_of([&](std::int64_t column, std::int64_t count) {
      const Vector centred = Isa::subtract(Isa::load(row_ + column), mean);
      const Vector square = Isa::multiply(centred, centred);
      return count == Isa::kLanes ? square : Isa::select(Isa::lanes_of(low_bits(count)), square, Isa::zero());
    });
    const Vector scale = Isa::set(1.0F / __builtin_sqrtf(variance + call_.epsilon));
    write(to, [&](Vector x) { return Isa::multiply(Isa::subtract(x, mean), scale); });
  }

  [[gnu::always_inline]] void write_root(Memory* to) const noexcept {
    const float square = mean_of([&](std::int64_t column, std::int64_t) {
      const Vector part = Isa::load(row_ + column);
      return Isa::multiply(part, part);
    });
    const Vector scale = Isa::set(1.0F / __builtin_sqrtf(square + call_.epsilon));
    write(to, [&](Vector x) { return rounded(Isa::multiply(x, scale)); });
  }

  template <typename Normal>
  [[gnu::always_inline]] void write(Memory* to, const Normal& normal) const noexcept {
    const bool has_bias = call_.bias != nullptr;
    each_vector([&](std::int64_t column, std::int64_t count) {
      const Vector shift = has_bias ? Isa::load(bias_ + column) : Isa::zero();
      const Vector result = Isa::multiply_add(normal(Isa::load(row_ + column)), Isa::load(weight_ + column), shift);
      narrow_part<Isa>(to + column, result, count);
    });
  }

  // As the storage holds it.
  [[gnu::always_inline]] static Vector rounded(Vector value) noexcept {
    Memory memory[Isa::kLanes];
    Isa::narrow(memory, value);
    return Isa::widen(memory);
  }

  // The mean over the row of what part(column, count) gives.
  template <typename Part>
  [[gnu::always_inline]] float mean_of(const Part& part) const noexcept {
    Vector sum = Isa::zero();
    each_vector([&](std::int64_t column, std::int64_t count) { sum = Isa::add(sum, part(column, count)); });
    float lanes[Isa::kLanes];
    Isa::store(lanes, sum);
    for (int half = Isa::kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        lanes[lane] += lanes[lane + half];
      }
    }
    return lanes[0] / static_cast<float>(call_.width);
  }

  const RowNorm& call_;
  std::int64_t whole_;  // numbers in whole vectors
  std::int64_t rest_;
  alignas(64) float row_[kMostNormWidth];  // x, or the sum
  alignas(64) float weight_[kMostNormWidth];
  alignas(64) float bias_[kMostNormWidth];  // where there is one
};

template <class Isa>
void run_row_norm(const RowNorm& call) noexcept {
  if (call.dtype == DType::kBFloat16) {
    NormPass<Isa, BFloat16Storage>(call).run();
  } else {
    NormPass<Isa, PlainStorage<float>>(call).run();
  }
}

}  // namespace weft::kernels
