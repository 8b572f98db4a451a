// SPDX-License-Identifier: Apache-2.0
// What a pattern costs in a model, before either exists: operations, bytes, memory, and with a calibrated machine the
// seconds; full attention beside it, and the length at which sparse attention overtakes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/pattern/cost/machine_rates.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {

/// A stack of pre-norm layers with self-attention and a feed-forward of two products.
struct ModelShape {
  std::int64_t layers = 12;
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t feed_forward = 3072;
  std::int64_t vocabulary = 0;      ///< of a language-model head over all positions; 0 is none
  std::int64_t maximum_length = 0;  ///< what released plans use
  std::int64_t batch = 1;
  std::int64_t element_bytes = 4;        ///< of activations and weights: 4 for float32, 2 for bfloat16
  bool training = false;                 ///< forward and backward, or forward alone
  std::vector<std::int64_t> input = {};  ///< ascending positions that `input` stands for

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ModelShape;
    constexpr double kMost = std::int64_t{1} << 31;
    visit(Field{"layers", &C::layers, "of the stack"}.range(1, 4096));
    visit(Field{"width", &C::width, "of the hidden states"}.range(1, 1 << 20));
    visit(Field{"heads", &C::heads, "attention heads, which divide the width"}.range(1, 4096));
    visit(Field{"feed_forward", &C::feed_forward, "width inside the feed-forward"}.range(1, 1 << 22));
    visit(Field{"vocabulary", &C::vocabulary, "of a head over all positions; 0 is no head"}.range(0, kMost));
    visit(Field{"max_length", &C::maximum_length, "the model's maximum length"}.range(0, kMost));
    visit(Field{"batch", &C::batch, "sequences at once"}.range(1, 1 << 20));
    visit(Field{"element_bytes", &C::element_bytes, "4 for float32, 2 for bfloat16"}.range(1, 8));
    visit(Field{"training", &C::training, "forward and backward, not forward alone"});
  }
};

/// One kind of work. Seconds are the larger of operations and bytes over their rates; nothing without rates.
struct Work {
  double flops = 0;
  double bytes = 0;
  std::optional<double> seconds;
};

struct ModelCost {
  Work products;  ///< projections and feed-forward
  Work attention;
  Work head;  ///< the language-model head
  Work total;
  double parameters = 0;       ///< their number
  double inference_bytes = 0;  ///< weights, the live activations of one layer, layouts, scores of the head
  double training_bytes = 0;   ///< weights, gradients, Adam's moments in float32, the saved activations of all layers
  double computed_share = 0;   ///< scores computed, over those of full attention
};

/// What the layers of a stack compute: the layout of each, all heads of one batch row.
struct LayerWork {
  double slots = 0;   ///< scores computed
  double blocks = 0;  ///< active blocks of 64 x 64
  double masked = 0;  ///< of these, with a mask or weights
  double layout_bytes = 0;
};

/// The work of every layer of the model at `length`. Errors: those of compile.
std::vector<LayerWork> layer_works(const Pattern& pattern, const ModelShape& shape, std::int64_t length);

/// The cost of a stack whose layers do `works`: two products a score forwards, five backwards, and the bytes that must
/// move to and from memory. Errors: kArgument for a shape out of range or heads that do not divide
/// the width.
ModelCost sparse_cost(const ModelShape& shape, std::int64_t length, const std::vector<LayerWork>& works,
                      const std::optional<MachineRates>& rates = {});

/// The same model with full attention.
ModelCost dense_cost(const ModelShape& shape, std::int64_t length, const std::optional<MachineRates>& rates = {});

/// The shortest multiple of 64 up to `longest` from which on sparse attention is predicted to take less time than full
/// attention, by doubling and bisection; nothing where it stays slower. Errors: those of compile.
std::optional<std::int64_t> crossover_length(const Pattern& pattern, const ModelShape& shape, const MachineRates& rates,
                                             std::int64_t longest = std::int64_t{1} << 17);

}  // namespace weft::pattern
