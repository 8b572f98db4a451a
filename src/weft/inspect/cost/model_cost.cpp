// SPDX-License-Identifier: Apache-2.0
// Counting operations and bytes as layers and kernels do them, and the seconds that they take.
#include "weft/inspect/cost/model_cost.h"

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/inspect/cost/computed_orders.h"
#include "weft/inspect/survey/survey.h"

namespace weft::inspect {
namespace {

constexpr double kForwardProducts = 2;   // scores, and their product with the values
constexpr double kBackwardProducts = 5;  // scores again, dP, dV, dQ, dK
constexpr double kStateHidden = 18;  // [length, width] read or written between products: 2 norms, 2 residuals, heads
constexpr double kStateInner = 2;    // [length, feed_forward]: the activation
constexpr double kSavedHidden = 8;   // [length, width] kept for the backward pass: norms, q, k, v, output, residuals
constexpr double kSavedInner = 2;    // [length, feed_forward]: before and after the activation
constexpr double kLiveHidden = 6;    // alive at once without gradients
constexpr double kAdamBytes = 12;    // a float32 master copy's two moments and gradient, for each parameter
constexpr double kScores = 1 << 22;  // of the head, in float32: it takes a chunk of positions at a time,
constexpr double kScoredRows = 256;  // and of positions at least these
constexpr double kUpdateBytes = 28;  // weights and moments read and written, the gradient read

void check_shape(const ModelShape& shape, std::int64_t length) {
  check_fields(shape, "cost");
  require(shape.width % shape.heads == 0, "cost: ", shape.heads, " heads do not divide the width ", shape.width);
  require(length >= 1 && length <= (std::int64_t{1} << 31), "cost: the length must be in [1, 2^31], found ", length);
}

/// All figures as floating point: products of sizes pass 2^63.
struct Sizes {
  double batch;
  double length;
  double tokens;  // of the whole batch
  double width;
  double inner;
  double layers;
  double heads;
  double vocabulary;
  double bytes;  // an element

  Sizes(const ModelShape& shape, std::int64_t its_length)
      : batch(static_cast<double>(shape.batch)),
        length(static_cast<double>(its_length)),
        tokens(batch * length),
        width(static_cast<double>(shape.width)),
        inner(static_cast<double>(shape.feed_forward)),
        layers(static_cast<double>(shape.layers)),
        heads(static_cast<double>(shape.heads)),
        vocabulary(static_cast<double>(shape.vocabulary)),
        bytes(static_cast<double>(shape.element_bytes())) {}

  /// Of one layer's matrices.
  double weights() const { return 4 * width * width + 2 * width * inner; }
  double parameters() const { return layers * (weights() + 9 * width + inner) + vocabulary * width; }
};

Work products_work(const Sizes& sizes) {
  const double states = sizes.tokens * (10 * sizes.width + 2 * sizes.inner);
  return {
      2 * sizes.layers * sizes.tokens * sizes.weights(), sizes.layers * sizes.bytes * (sizes.weights() + states), {}};
}

Work states_work(const Sizes& sizes) {
  const double numbers = sizes.tokens * (kStateHidden * sizes.width + kStateInner * sizes.inner);
  return {0, sizes.layers * sizes.bytes * numbers, {}};
}

Work head_work(const Sizes& sizes) {
  const double weights = sizes.width * sizes.vocabulary;
  const double states = sizes.vocabulary == 0 ? 0 : sizes.tokens * (sizes.width + sizes.vocabulary);
  return {2 * sizes.tokens * weights, sizes.bytes * (weights + states), {}};
}

/// Backwards every product is two, and every state is read and written twice.
Work training_of(const Work& forward) { return {3 * forward.flops, 3 * forward.bytes, {}}; }

/// Bytes are those that must move: q, k, v and the output, and backwards these, their gradients and the output's. What
/// a kernel reads again from its caches is part of its rate.
Work attention_work(const Sizes& sizes, double slots, double products) {
  const double rows = sizes.layers * sizes.tokens * sizes.width * sizes.bytes;
  const double tensors = products == kForwardProducts ? 4 : 12;
  return {products * 2 * sizes.batch * slots * sizes.width / sizes.heads, tensors * rows, {}};
}

/// Seconds of attention in the whole stack and batch.
struct AttentionSeconds {
  double forward = 0;
  double backward = 0;
};

void add_up(StepCost& step) {
  for (const Work* work : {&step.products, &step.attention, &step.states, &step.head, &step.update}) {
    step.total.flops += work->flops;
    step.total.bytes += work->bytes;
    if (work->seconds) {
      step.total.seconds = step.total.seconds.value_or(0) + *work->seconds;
    }
  }
}

/// What training adds to the operations of the forward pass runs at the rate of the backward pass.
void time_products(Work& inference, Work& training, const LayerRates& rates) {
  inference.seconds = inference.flops / rates.product_flops;
  training.seconds = *inference.seconds + (training.flops - inference.flops) / rates.product_backward_flops;
}

void add_seconds(ModelCost& cost, const LayerRates& rates, double update_seconds, const AttentionSeconds& attention) {
  time_products(cost.inference.products, cost.training.products, rates);
  time_products(cost.inference.head, cost.training.head, rates);
  cost.inference.states.seconds = cost.inference.states.bytes / rates.bandwidth;
  cost.training.states.seconds = cost.training.states.bytes / rates.bandwidth;
  cost.inference.attention.seconds = attention.forward;
  cost.training.attention.seconds = attention.forward + attention.backward;
  cost.inference.update.seconds = 0;
  cost.training.update.seconds = cost.parameters * update_seconds;
}

void add_memory(ModelCost& cost, const Sizes& sizes, double layout_bytes) {
  const double chunk = std::max(kScores, kScoredRows * sizes.vocabulary);
  const double scores = std::min(sizes.tokens * sizes.vocabulary, chunk) * 4;
  const double live = sizes.tokens * (kLiveHidden * sizes.width + sizes.inner) * sizes.bytes;
  const double saved =
      sizes.layers * sizes.tokens * (kSavedHidden * sizes.width + kSavedInner * sizes.inner) * sizes.bytes;
  const double sums = sizes.layers * sizes.tokens * sizes.heads * 4;  // log-sum-exp
  cost.inference_bytes = cost.parameters * sizes.bytes + live + scores + layout_bytes;
  cost.training_bytes =
      cost.parameters * (sizes.bytes + kAdamBytes) + saved + sums + live + 2 * scores + 2 * layout_bytes;
}

ModelCost counted_cost(const Sizes& sizes, double slots, double layout_bytes) {
  ModelCost cost;
  cost.parameters = sizes.parameters();
  cost.inference.products = products_work(sizes);
  cost.inference.states = states_work(sizes);
  cost.inference.head = head_work(sizes);
  cost.inference.attention = attention_work(sizes, slots, kForwardProducts);
  cost.training.products = training_of(cost.inference.products);
  cost.training.states = training_of(cost.inference.states);
  cost.training.head = training_of(cost.inference.head);
  cost.training.attention = attention_work(sizes, slots, kForwardProducts + kBackwardProducts);
  cost.training.update = {0, kUpdateBytes * cost.parameters, {}};
  cost.computed_share = slots / (sizes.layers * sizes.heads * sizes.length * sizes.length);
  add_memory(cost, sizes, layout_bytes);
  return cost;
}

ModelCost finished(ModelCost cost) {
  add_up(cost.inference);
  add_up(cost.training);
  return cost;
}

LayoutWork sum_of(const std::vector<LayoutWork>& works) {
  LayoutWork sum;
  for (const LayoutWork& work : works) {
    sum += work;
  }
  return sum;
}

pattern::Site site_at(const ModelShape& shape, std::int64_t length) {
  pattern::Site site;
  const auto end = std::lower_bound(shape.input.begin(), shape.input.end(), length);  // a shorter text has fewer
  site.input = {shape.input.begin(), end};
  site.query_length = length;
  site.key_length = length;
  site.heads = shape.heads;
  site.maximum_length = shape.maximum_length;
  return site;
}

bool fits(const pattern::Pattern& pattern, const ModelShape& shape, std::int64_t length) {
  try {
    pattern.check(site_at(shape, length));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Where sparse attention begins to win for good, given who wins at a length.
template <typename IsFaster>
std::optional<std::int64_t> first_win(std::int64_t longest, const IsFaster& is_faster) {
  constexpr std::int64_t kStep = 64;
  std::int64_t wins = longest / kStep;  // from the long end
  if (wins < 1 || !is_faster(wins * kStep)) {
    return std::nullopt;
  }
  std::int64_t loses = wins / 2;
  while (loses >= 1 && is_faster(loses * kStep)) {
    wins = loses;
    loses /= 2;
  }
  while (wins - loses > 1) {
    const std::int64_t middle = loses + (wins - loses) / 2;
    (is_faster(middle * kStep) ? wins : loses) = middle;
  }
  return wins * kStep;
}

}  // namespace

std::vector<LayoutWork> layer_works(const pattern::Pattern& pattern, const ModelShape& shape, std::int64_t length) {
  check_shape(shape, length);
  require(!pattern.needs_input() || !shape.input.empty(), "cost: the pattern names `input`; give the positions");
  std::vector<LayoutWork> works;
  std::string known;
  pattern::Site site = site_at(shape, length);
  for (site.layer = 0; site.layer < shape.layers; ++site.layer) {
    pattern.check(site);
    std::string text = text_for_heads(pattern, site);
    if (works.empty() || text != known) {
      works.push_back(computed_work(pattern, site, shape.head_dim()));
      known = std::move(text);
      end_piece();
    } else {
      works.push_back(works.back());
      works.back().layout_bytes = 0;
    }
  }
  return works;
}

std::optional<LayerEstimates> estimated_works(const pattern::Pattern& pattern, const ModelShape& shape,
                                              std::int64_t length) {
  constexpr double kBuiltBlocks = 1 << 23;  // of all layouts that differ
  constexpr double kBuiltMasks = 1 << 19;   // of one layout
  constexpr double kListedKeys = 1 << 26;   // of all layouts
  check_shape(shape, length);
  require(!pattern.needs_input() || !shape.input.empty(), "cost: the pattern names `input`; give the positions");
  LayerEstimates works;
  double blocks = 0;
  double masks = 0;
  double listed = 0;
  std::string known;
  LayoutWork work;
  pattern::Site site = site_at(shape, length);
  const double questions = kSurveyQuestions / static_cast<double>(std::min<std::int64_t>(shape.layers, 16));
  for (site.layer = 0; site.layer < shape.layers; ++site.layer) {
    std::string text = text_for_heads(pattern, site);
    if (text != known) {
      work = {};
      for (const ComputedOrder& order : computed_orders(pattern, site)) {
        const LayoutSurvey survey = survey_layout(order.pattern, order.site, {}, questions);
        blocks += survey.blocks_stored;
        masks = std::max(masks, survey.masks);
        listed += survey.listed_keys;
        work.slots += static_cast<double>(survey.layout.slots);
        work.layout_bytes += survey.blocks_stored * 8 + survey.masks * 512;
      }
      known = text;
    }
    works.push_back(work);
  }
  const bool is_small = blocks <= kBuiltBlocks && masks <= kBuiltMasks && listed <= kListedKeys;
  return is_small ? std::nullopt : std::optional<LayerEstimates>(std::move(works));
}

ModelCost sparse_cost(const ModelShape& shape, std::int64_t length, const std::vector<LayoutWork>& works,
                      const std::optional<MachineRates>& rates) {
  check_shape(shape, length);
  require(std::ssize(works) == shape.layers, "cost: ", works.size(), " layers of work for a model of ", shape.layers);
  const LayoutWork sum = sum_of(works);
  const Sizes sizes(shape, length);
  ModelCost cost = counted_cost(sizes, sum.slots, sum.layout_bytes);
  if (rates) {
    const AttentionRates mine = attention_rates(*rates, shape.dtype, shape.head_dim());
    add_seconds(cost, layer_rates(*rates, shape.dtype), rates->update_seconds,
                {sizes.batch * forward_seconds(sum, mine.forward), sizes.batch * backward_seconds(sum, mine.backward)});
  }
  return finished(cost);
}

ModelCost dense_cost(const ModelShape& shape, std::int64_t length, const std::optional<MachineRates>& rates) {
  check_shape(shape, length);
  const Sizes sizes(shape, length);
  ModelCost cost = counted_cost(sizes, sizes.layers * sizes.heads * sizes.length * sizes.length, 0);
  if (rates) {
    const AttentionRates mine = attention_rates(*rates, shape.dtype, shape.head_dim());
    const double heads = sizes.layers * sizes.batch * sizes.heads;
    add_seconds(cost, layer_rates(*rates, shape.dtype), rates->update_seconds,
                {dense_seconds(heads, sizes.length, mine.dense_forward),
                 dense_seconds(heads, sizes.length, mine.dense_backward)});
  }
  return finished(cost);
}

Crossover crossover_length(const pattern::Pattern& pattern, const ModelShape& shape, const MachineRates& rates,
                           std::int64_t longest) {
  while (longest >= 64 && !fits(pattern, shape, longest)) {
    longest /= 2;
  }
  const auto search = [&](StepCost ModelCost::* step) {
    return first_win(longest, [&](std::int64_t length) {
      const ModelCost sparse = sparse_cost(shape, length, layer_works(pattern, shape, length), rates);
      return *(sparse.*step).attention.seconds < *(dense_cost(shape, length, rates).*step).attention.seconds;
    });
  };
  return {search(&ModelCost::inference), search(&ModelCost::training), longest};
}

}  // namespace weft::inspect
