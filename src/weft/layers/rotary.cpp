// SPDX-License-Identifier: Apache-2.0
// Rotary tables and the rotation itself: one pass over memory on a CPU, LibTorch operators elsewhere.
#include "weft/layers/rotary.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "weft/core/error.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kRowsOfATask = 256;

/// Element strides of a [B, H, N, D] tensor whose columns are contiguous.
template <typename Scalar>
struct RotatedRows {
  Scalar* data;
  std::int64_t batch_stride;
  std::int64_t head_stride;
  std::int64_t row_stride;

  Scalar* at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return data + batch * batch_stride + head * head_stride + row * row_stride;
  }
};

template <typename Scalar>
auto widen(Scalar x) {
  return static_cast<std::conditional_t<std::is_same_v<Scalar, double>, double, float>>(x);
}
float widen(at::BFloat16 x) { return std::bit_cast<float>(std::uint32_t{x.x} << 16); }

template <typename Scalar, typename Angle>
Scalar round_to(Angle x) {
  if constexpr (std::is_same_v<Scalar, at::BFloat16>) {
    // LibTorch's own rounding branches on NaN and is not vectorised: 1.4 against 0.4 ns an element. NaN stays NaN here,
    // because the operands' low halves are zero or that of the default NaN.
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16), at::BFloat16::from_bits()};
  } else {
    return static_cast<Scalar>(x);
  }
}

template <typename Scalar, typename Angle>
// (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin) for the pairs of one row; sign = -1 turns back.
void rotate_row(const Scalar* __restrict__ x, Scalar* __restrict__ y, const Angle* __restrict__ cosine,
                const Angle* __restrict__ sine, std::int64_t half, Angle sign) {
#pragma omp simd
  for (std::int64_t i = 0; i < half; ++i) {
    const Angle first = widen(x[i]);
    const Angle second = widen(x[i + half]);
    y[i] = round_to<Scalar>(first * cosine[i] - sign * second * sine[i]);
    y[i + half] = round_to<Scalar>(second * cosine[i] + sign * first * sine[i]);
  }
}

template <typename Scalar, typename Angle>
void rotate_rows(const at::Tensor& x, const at::Tensor& y, const Rotation& rotation, bool inverse) {
  const RotatedRows<const Scalar> input{x.const_data_ptr<Scalar>(), x.stride(0), x.stride(1), x.stride(2)};
  const RotatedRows<Scalar> output{y.mutable_data_ptr<Scalar>(), y.stride(0), y.stride(1), y.stride(2)};
  const std::int64_t heads = x.size(1);
  const std::int64_t length = x.size(2);
  const std::int64_t half = x.size(3) / 2;
  const Angle* cosine = rotation.cosine.const_data_ptr<Angle>();
  const Angle* sine = rotation.sine.const_data_ptr<Angle>();
  const Angle sign = inverse ? Angle(-1) : Angle(1);
  // By token, all heads of it: its row of angles is read from memory once.
  at::parallel_for(0, x.size(0) * length, kRowsOfATask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const std::int64_t batch = token / length;
      const std::int64_t row = token % length;
      for (std::int64_t head = 0; head < heads; ++head) {
        rotate_row(input.at(batch, head, row), output.at(batch, head, row), cosine + row * half, sine + row * half,
                   half, sign);
      }
    }
  });
}

void rotate_on_cpu(const at::Tensor& x, const at::Tensor& y, const Rotation& rotation, bool inverse) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "rotate", [&] {
    using Angle = std::conditional_t<std::is_same_v<scalar_t, double>, double, float>;
    rotate_rows<scalar_t, Angle>(x, y, rotation, inverse);
  });
}

void rotate_on_device(const at::Tensor& x, const at::Tensor& y, const Rotation& rotation, bool inverse) {
  const std::int64_t half = x.size(3) / 2;
  const at::Tensor first = x.narrow(3, 0, half);
  const at::Tensor second = x.narrow(3, half, half);
  const at::Tensor sine = inverse ? rotation.sine.neg() : rotation.sine;
  y.narrow(3, 0, half).copy_(first * rotation.cosine - second * sine);
  y.narrow(3, half, half).copy_(second * rotation.cosine + first * sine);
}

}  // namespace

Rotation RotaryTable::at_positions(std::int64_t first, std::int64_t count, const at::TensorOptions& options) {
  const at::ScalarType dtype = options.dtype() == at::kDouble ? at::kDouble : at::kFloat;
  const at::TensorOptions wanted = at::TensorOptions(options.device()).dtype(dtype);
  const bool fits = table_.defined() && table_.cosine.size(0) >= first + count &&
                    table_.cosine.scalar_type() == dtype && table_.cosine.device() == options.device();
  if (!fits) {
    grow(first + count, wanted);
  }
  return {table_.cosine.narrow(0, first, count), table_.sine.narrow(0, first, count)};
}

void RotaryTable::grow(std::int64_t positions, const at::TensorOptions& options) {
  // The table outlives the call: made in inference mode it could not be kept for a backward pass later.
  const c10::InferenceMode outside(false);
  constexpr std::int64_t kSmallest = 512;
  const std::int64_t held = table_.defined() ? table_.cosine.size(0) : 0;
  const std::int64_t rows = std::max({positions, kSmallest, held < positions ? 2 * held : held});
  // float64 angles: at position 65,536 a float32 angle is off by 4e-3.
  const at::TensorOptions exact = at::TensorOptions(at::kCPU).dtype(at::kDouble);
  const at::Tensor exponents = at::arange(0, head_dim_, 2, exact) / -static_cast<double>(head_dim_);
  const at::Tensor angles = at::outer(at::arange(rows, exact), at::pow(theta_, exponents));
  table_ = {angles.cos().to(options), angles.sin().to(options)};
}

Rotation Rotations::of(std::int64_t head_dim, double theta) const {
  if (theta == 0.0) {
    return {};
  }
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const OfBase& each) {
    return each.theta == theta && 2 * each.rotation.cosine.size(1) == head_dim;
  });
  require(found != all_.end(), "rotary positions of base ", theta, " for heads of ", head_dim,
          " columns: the call has no such rotation");
  return found->rotation;
}

void RotaryTables::add(std::int64_t head_dim, double theta) {
  const auto is_same = [&](const RotaryTable& table) { return table.head_dim() == head_dim && table.theta() == theta; };
  if (std::none_of(tables_.begin(), tables_.end(), is_same)) {
    tables_.emplace_back(head_dim, theta);
  }
}

Rotations RotaryTables::at_positions(std::int64_t first, std::int64_t count, const at::TensorOptions& options) {
  Rotations rotations;
  for (RotaryTable& table : tables_) {
    rotations.add(table.theta(), table.at_positions(first, count, options));
  }
  return rotations;
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, bool inverse, at::Tensor output) {
  if (!output.defined()) {
    // In the order of x in memory: attention answers in that order, and then joining the heads is no copy.
    const bool by_token = x.stride(1) < x.stride(2);
    output = by_token ? at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options()).transpose(1, 2)
                      : at::empty(x.sizes(), x.options());
  }
  const at::Tensor rows = x.stride(3) == 1 ? x : x.contiguous();
  if (x.is_cpu()) {
    rotate_on_cpu(rows, output, rotation, inverse);
  } else {
    rotate_on_device(rows, output, rotation, inverse);
  }
  return output;
}

}  // namespace weft::layers
