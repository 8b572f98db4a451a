// SPDX-License-Identifier: Apache-2.0
// How long a machine takes for each thing that a transformer does, as `weft bench calibrate` measures it with all
// threads at work. The field lists give the JSON of the file that a calibration writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"

namespace weft::inspect {

/// One direction of the block-sparse kernel. It works on a panel of 32 queries and those keys of a block that lie
/// between the first and the last that the panel sees, so that keys are counted once a panel: a full block of 64 x 64
/// has 128.
struct KernelRates {
  double row_seconds = 0;         ///< for each block of queries of a head; backwards, of keys
  double key_seconds = 0;         ///< for each key in full blocks
  double masked_seconds = 0;      ///< for each partial block, besides its keys
  double weighted_seconds = 0;    ///< for each block with multiplicities, besides its keys
  double masked_key_seconds = 0;  ///< for each key in partial and weighted blocks
  double refill_seconds = 0;      ///< for each block of keys (backwards: queries) that is read and packed again

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = KernelRates;
    visit(Field{"row_seconds", &C::row_seconds, "for each block of 64 queries (backwards: keys)"}.range(0, 1));
    visit(Field{"key_seconds", &C::key_seconds, "for each key that 32 queries meet in a full block"}.range(0, 1));
    visit(Field{"masked_seconds", &C::masked_seconds, "for each partial block"}.range(0, 1));
    visit(Field{"weighted_seconds", &C::weighted_seconds, "for each block with multiplicities"}.range(0, 1));
    visit(Field{"masked_key_seconds", &C::masked_key_seconds, "for each key in these"}.range(0, 1));
    visit(Field{"refill_seconds", &C::refill_seconds, "for each block that is packed again"}.range(0, 1));
  }
};

/// One direction of LibTorch's dense attention.
struct DenseRates {
  double query_seconds = 0;  ///< for each query of a head
  double pair_seconds = 0;   ///< for each query and key of a head

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = DenseRates;
    visit(Field{"query_seconds", &C::query_seconds, "for each query of a head"}.range(0, 1));
    visit(Field{"pair_seconds", &C::pair_seconds, "for each query and key of a head"}.range(0, 1));
  }
};

/// Attention at one element type and width of a head.
struct AttentionRates {
  KernelRates forward;
  KernelRates backward;  ///< the backward pass alone
  DenseRates dense_forward;
  DenseRates dense_backward;
};

struct MeasuredAttention {
  std::string dtype;
  std::int64_t head_dim = 0;
  AttentionRates rates;
};

/// What surrounds attention, at one element type.
struct LayerRates {
  std::string dtype;
  double product_flops = 0;           ///< FLOP/s of linear layers
  double product_backward_flops = 0;  ///< of their backward pass alone
  double bandwidth = 0;               ///< bytes/s through layer norms, residuals and activations

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = LayerRates;
    constexpr double kMost = 1e18;
    visit(Field{"dtype", &C::dtype, "of states and weights"}.one_of({"float32", "bfloat16"}));
    visit(Field{"product_flops", &C::product_flops, "FLOP/s of linear layers"}.range(1, kMost));
    visit(Field{"product_backward_flops", &C::product_backward_flops, "FLOP/s of their backward pass"}.range(1, kMost));
    visit(Field{"bandwidth", &C::bandwidth, "bytes/s through elementwise layers"}.range(1, kMost));
  }
};

/// One machine at one number of threads.
struct MachineRates {
  std::vector<MeasuredAttention> attention;  ///< in any order; at least one entry an element type
  std::vector<LayerRates> layers;            ///< one entry an element type
  double update_seconds = 0;                 ///< of the optimiser, for each parameter
};

/// The rates at a width of head that need not have been measured: linear between the widths on either side, and beyond
/// the ends on the line through the two last. Errors: kArgument where the element type was not measured.
AttentionRates attention_rates(const MachineRates& rates, std::string_view dtype, std::int64_t head_dim);

/// Errors: kArgument where the element type was not measured.
const LayerRates& layer_rates(const MachineRates& rates, std::string_view dtype);

}  // namespace weft::inspect
