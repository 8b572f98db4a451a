// SPDX-License-Identifier: Apache-2.0
// What a pattern costs in a model, before either exists: operations, bytes, memory, and with a calibrated machine the
// seconds; full attention beside it, and the length at which sparse attention overtakes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/inspect/cost/layout_work.h"
#include "weft/inspect/cost/machine_rates.h"
#include "weft/pattern/pattern.h"

namespace weft::inspect {

/// A stack of pre-norm layers with self-attention and a feed-forward of two products.
struct ModelShape {
  std::int64_t layers = 12;
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t feed_forward = 3072;
  std::int64_t vocabulary = 0;      ///< of a language-model head over all positions; 0 is none
  std::int64_t maximum_length = 0;  ///< what released plans use
  std::int64_t batch = 1;
  std::string dtype = "float32";
  std::vector<std::int64_t> input = {};  ///< ascending positions that `input` stands for

  std::int64_t element_bytes() const noexcept { return dtype == "float32" ? 4 : 2; }
  std::int64_t head_dim() const noexcept { return width / heads; }

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ModelShape;
    constexpr double kMost = std::int64_t{1} << 31;
    visit(Field{"layers", &C::layers, "layers of the model"}.range(1, 4096));
    visit(Field{"width", &C::width, "width of the hidden states"}.range(1, 1 << 20));
    visit(Field{"heads", &C::heads, "attention heads of a layer; the width must be a multiple of them"}.range(1, 4096));
    visit(Field{"feed_forward", &C::feed_forward, "width inside the feed-forward network"}.range(1, 1 << 22));
    visit(Field{"vocabulary", &C::vocabulary,
                "tokens that a language-model head scores at every position; 0 for no such head"}
              .range(0, kMost));
    visit(Field{
        "max_length", &C::maximum_length,
        "the longest sequence that the model was made for, which the released BigBird plans depend on; 0 if unknown"}
              .range(0, kMost));
    visit(Field{"batch", &C::batch, "sequences in a batch"}.range(1, 1 << 20));
    visit(Field{"dtype", &C::dtype, "element type of activations and weights"}.one_of({"float32", "bfloat16"}));
  }
};

/// One kind of work. No seconds where the machine's rates are not known.
struct Work {
  double flops = 0;
  double bytes = 0;
  std::optional<double> seconds;
};

/// One step over one batch, by what is done.
struct StepCost {
  Work products;  ///< projections and feed-forward
  Work attention;
  Work states;  ///< layer norms, residuals, activation, heads split and joined
  Work head;    ///< the language-model head
  Work update;  ///< the optimiser's, in training
  Work total;
};

struct ModelCost {
  StepCost inference;          ///< the forward pass
  StepCost training;           ///< forward, backward and update
  double parameters = 0;       ///< their number
  double inference_bytes = 0;  ///< weights, the live activations of one layer, layouts, scores of the head
  double training_bytes = 0;   ///< weights, gradients, Adam's moments in float32, the saved activations of all layers
  double computed_share = 0;   ///< scores in active blocks, over those of full attention
};

/// The work of every layer of the model at `length`, for one sequence. Layers with equal patterns share a layout, whose
/// bytes the first one counts. Errors: those of compile.
std::vector<LayoutWork> layer_works(const pattern::Pattern& pattern, const ModelShape& shape, std::int64_t length);

/// The same, estimated from a sample of rows, where the layouts are too large to be built in seconds: operations, slots
/// and bytes, but no refills. Nothing where they are small.
using LayerEstimates = std::vector<LayoutWork>;
std::optional<LayerEstimates> estimated_works(const pattern::Pattern& pattern, const ModelShape& shape,
                                              std::int64_t length);

/// The cost of a stack whose layers do `works`: two products a score forwards, five backwards, and the bytes that must
/// move to and from memory. Errors: kArgument for a shape out of range, heads that do not divide the width, or rates
/// without the shape's element type.
ModelCost sparse_cost(const ModelShape& shape, std::int64_t length, const std::vector<LayoutWork>& works,
                      const std::optional<MachineRates>& rates = {});

/// The same model with full attention.
ModelCost dense_cost(const ModelShape& shape, std::int64_t length, const std::optional<MachineRates>& rates = {});

/// The shortest multiple of 64 from which on sparse attention is predicted to take less time than full attention,
/// forwards and in training; nothing where it stays slower up to `longest`.
struct Crossover {
  std::optional<std::int64_t> inference;
  std::optional<std::int64_t> training;
  std::int64_t longest = 0;  ///< that was looked at: a pattern on a grid or from a file fits no length beyond its own
};

/// By halving and bisection from `longest` tokens on. Errors: those of compile at a length that the pattern fits.
Crossover crossover_length(const pattern::Pattern& pattern, const ModelShape& shape, const MachineRates& rates,
                           std::int64_t longest = std::int64_t{1} << 17);

}  // namespace weft::inspect
