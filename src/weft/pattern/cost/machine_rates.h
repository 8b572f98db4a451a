// SPDX-License-Identifier: Apache-2.0
// What a machine does in a second, as measured by a calibration. One field list gives the JSON file that a calibration
// writes and the flags that override it.
#pragma once

#include "weft/core/fields.h"

namespace weft::pattern {

/// Rates of one machine, number of threads and element type. A calibration times each line alone at sizes of the model
/// at hand and divides: matrix products of [length, width] by [width, width]; the sparse kernel on full blocks of 64 x
/// 64; the same blocks as masks; fused dense attention; a copy larger than the caches. All are for the forward pass;
/// `*_backward` counts the operations of the backward pass alone.
struct MachineRates {
  double product_flops = 0;  ///< dense matrix products, FLOP/s
  double sparse_flops = 0;   ///< block-sparse attention, FLOP/s over computed scores
  double sparse_backward_flops = 0;
  double dense_flops = 0;  ///< fused dense attention, FLOP/s
  double dense_backward_flops = 0;
  double bandwidth = 0;       ///< bytes/s to and from memory
  double block_seconds = 0;   ///< for each active block of a head, besides its operations
  double masked_seconds = 0;  ///< for each partial or weighted block, besides that

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = MachineRates;
    constexpr double kMost = 1e18;
    visit(Field{"product_flops", &C::product_flops, "FLOP/s of matrix products"}.range(1, kMost));
    visit(Field{"sparse_flops", &C::sparse_flops, "FLOP/s of sparse attention"}.range(1, kMost));
    visit(Field{"sparse_backward_flops", &C::sparse_backward_flops, "the same, backwards"}.range(1, kMost));
    visit(Field{"dense_flops", &C::dense_flops, "FLOP/s of dense attention"}.range(1, kMost));
    visit(Field{"dense_backward_flops", &C::dense_backward_flops, "the same, backwards"}.range(1, kMost));
    visit(Field{"bandwidth", &C::bandwidth, "bytes/s to and from memory"}.range(1, kMost));
    visit(Field{"block_seconds", &C::block_seconds, "for each active block of a head"}.range(0, 1));
    visit(Field{"masked_seconds", &C::masked_seconds, "more for each block with a mask"}.range(0, 1));
  }
};

/// Errors: kArgument that names the first rate that is missing or out of range.
void check_rates(const MachineRates& rates);

}  // namespace weft::pattern
