// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021, equation 34): pair i of a head at position p is turned by the angle p *
// theta^(-2i / D). Pairs are (i, i + D/2), a fixed permutation of the paper's neighbours that keeps each half
// contiguous.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// Cosines and sines of consecutive positions, [N, D/2] each, float32 (float64 for float64 models); undefined means no
/// rotation.
struct Rotation {
  at::Tensor cosine;
  at::Tensor sine;
  bool defined() const { return cosine.defined(); }
};

/// The angles of all positions asked for so far. Grows geometrically; there is no largest position.
class RotaryTable {
 public:
  RotaryTable() = default;
  RotaryTable(std::int64_t head_dim, double theta) : head_dim_(head_dim), theta_(theta) {}

  /// The rotation of positions first .. first + count - 1 on `options`' device, in float32 or, if that is its dtype,
  /// float64.
  Rotation at_positions(std::int64_t first, std::int64_t count, const at::TensorOptions& options);
  std::int64_t head_dim() const noexcept { return head_dim_; }
  double theta() const noexcept { return theta_; }

 private:
  void grow(std::int64_t positions, const at::TensorOptions& options);

  std::int64_t head_dim_ = 0;
  double theta_ = 10000.0;
  Rotation table_;
};

/// The rotations of one call, one for each width of heads and base that the blocks of a stack have.
class Rotations {
 public:
  void add(double theta, Rotation rotation) { all_.push_back({theta, std::move(rotation)}); }
  /// Undefined for a base of 0. Errors: kArgument for a base that the call has no rotation of.
  Rotation of(std::int64_t head_dim, double theta) const;

 private:
  struct OfBase {
    double theta;
    Rotation rotation;
  };
  std::vector<OfBase> all_;
};

/// The tables of a stack.
class RotaryTables {
 public:
  /// One of these, unless there is one.
  void add(std::int64_t head_dim, double theta);
  /// As RotaryTable::at_positions(), of all of them.
  Rotations at_positions(std::int64_t first, std::int64_t count, const at::TensorOptions& options);

 private:
  std::vector<RotaryTable> tables_;
};

/// x [B, H, N, D] with any strides -> a new contiguous [B, H, N, D] of the same dtype, turned by `rotation`, or back
/// when `inverse`. `output` is written where it is defined and may have any strides with contiguous columns. No
/// autograd.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, bool inverse, at::Tensor output = {});

}  // namespace weft::layers
