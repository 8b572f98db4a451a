// SPDX-License-Identifier: Apache-2.0
// Counting operations and bytes as the kernels do them.
#include "weft/pattern/cost/model_cost.h"

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/pattern/syntax.h"

namespace weft::pattern {
namespace {

constexpr Tile kTile{64, 64};
constexpr double kForwardProducts = 2;   // scores, and their product with the values
constexpr double kBackwardProducts = 5;  // scores again, dP, dV, dQ, dK
constexpr double kSavedHidden = 8;  // [length, width] kept for the backward pass: norms, q, k, v, output, residuals
constexpr double kSavedInner = 2;   // [length, feed_forward]: before and after the activation
constexpr double kLiveHidden = 6;   // alive at once without gradients
constexpr double kAdamBytes = 12;   // a float32 master copy's two moments and gradient, for each parameter

void check_shape(const ModelShape& shape, std::int64_t length) {
  check_fields(shape, "cost");
  require(shape.width % shape.heads == 0, "cost: ", shape.heads, " heads do not divide the width ", shape.width);
  require(length >= 1 && length <= (std::int64_t{1} << 31), "cost: the length must be in [1, 2^31], found ", length);
}

/// All figures as floating point: products of sizes pass 2^63.
struct Sizes {
  double tokens;  // of the whole batch
  double width;
  double inner;
  double layers;
  double bytes;  // an element
  double head_width;

  Sizes(const ModelShape& shape, std::int64_t length)
      : tokens(static_cast<double>(shape.batch) * static_cast<double>(length)),
        width(static_cast<double>(shape.width)),
        inner(static_cast<double>(shape.feed_forward)),
        layers(static_cast<double>(shape.layers)),
        bytes(static_cast<double>(shape.element_bytes)),
        head_width(static_cast<double>(shape.width) / static_cast<double>(shape.heads)) {}
};

/// Backwards every product is two.
double passes(const ModelShape& shape) { return shape.training ? 3 : 1; }

Work products_work(const ModelShape& shape, const Sizes& sizes) {
  const double weights = sizes.layers * (4 * sizes.width * sizes.width + 2 * sizes.width * sizes.inner);
  // Products read and write 10 hidden and 2 inner states, norms and residuals another 8 and the activation 2.
  const double states = sizes.layers * sizes.tokens * (18 * sizes.width + 4 * sizes.inner);
  return {passes(shape) * 2 * sizes.tokens * weights, passes(shape) * sizes.bytes * (weights + states), {}};
}

Work head_work(const ModelShape& shape, const Sizes& sizes) {
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  if (shape.vocabulary == 0) {
    return {};
  }
  return {passes(shape) * 2 * sizes.tokens * sizes.width * vocabulary,
          passes(shape) * sizes.bytes * (sizes.width * vocabulary + sizes.tokens * (sizes.width + vocabulary)),
          {}};
}

/// Forward alone, and with what the backward pass adds.
struct AttentionWork {
  Work forward;
  Work backward;
};

/// Bytes are those that must move: q, k, v and the output, and backwards these, their gradients and the output's. What
/// a kernel reads again from its caches is part of its rate.
AttentionWork attention_work(const ModelShape& shape, const Sizes& sizes, const LayerWork& sum) {
  const double product = 2 * static_cast<double>(shape.batch) * sum.slots * sizes.head_width;
  const double rows = sizes.layers * sizes.tokens * sizes.width * sizes.bytes;
  AttentionWork work{{kForwardProducts * product, 4 * rows, {}}, {kBackwardProducts * product, 8 * rows, {}}};
  if (!shape.training) {
    work.backward = {};
  }
  return work;
}

double seconds(const Work& work, double flops, double bandwidth) {
  return std::max(work.flops / flops, work.bytes / bandwidth);
}

struct AttentionRates {
  double forward;
  double backward;
  double overhead;  // seconds
};

void add_seconds(ModelCost& cost, const AttentionWork& attention, const MachineRates& rates,
                 const AttentionRates& mine) {
  cost.products.seconds = seconds(cost.products, rates.product_flops, rates.bandwidth);
  cost.head.seconds = seconds(cost.head, rates.product_flops, rates.bandwidth);
  cost.attention.seconds = seconds(attention.forward, mine.forward, rates.bandwidth) +
                           seconds(attention.backward, mine.backward, rates.bandwidth) + mine.overhead;
  cost.total.seconds = *cost.products.seconds + *cost.head.seconds + *cost.attention.seconds;
}

void add_memory(ModelCost& cost, const ModelShape& shape, const Sizes& sizes, double layout_bytes) {
  const auto vocabulary = static_cast<double>(shape.vocabulary);
  const double scores = sizes.tokens * vocabulary * sizes.bytes;
  const double live = sizes.tokens * (kLiveHidden * sizes.width + sizes.inner) * sizes.bytes;
  const double saved =
      sizes.layers * sizes.tokens * (kSavedHidden * sizes.width + kSavedInner * sizes.inner) * sizes.bytes;
  const double sums = sizes.layers * sizes.tokens * static_cast<double>(shape.heads) * 4;  // log-sum-exp
  cost.parameters =
      sizes.layers * (4 * sizes.width * sizes.width + 2 * sizes.width * sizes.inner + 9 * sizes.width + sizes.inner) +
      vocabulary * sizes.width;
  cost.inference_bytes = cost.parameters * sizes.bytes + live + scores + layout_bytes;
  cost.training_bytes =
      cost.parameters * (sizes.bytes + kAdamBytes) + saved + sums + live + 2 * scores + 2 * layout_bytes;
}

LayerWork sum_of(const std::vector<LayerWork>& works) {
  LayerWork sum;
  for (const LayerWork& work : works) {
    sum.slots += work.slots;
    sum.blocks += work.blocks;
    sum.masked += work.masked;
    sum.layout_bytes += work.layout_bytes;
  }
  return sum;
}

LayerWork dense_work(const ModelShape& shape, std::int64_t length) {
  const auto heads = static_cast<double>(shape.heads);
  const auto blocks = static_cast<double>(ceil_divide(length, kTile.key));
  return {heads * static_cast<double>(length) * static_cast<double>(length), heads * blocks * blocks, 0, 0};
}

ModelCost cost_of(const ModelShape& shape, std::int64_t length, const LayerWork& sum,
                  const std::optional<MachineRates>& rates, const AttentionRates& mine) {
  const Sizes sizes(shape, length);
  const AttentionWork attention = attention_work(shape, sizes, sum);
  ModelCost cost;
  cost.products = products_work(shape, sizes);
  cost.head = head_work(shape, sizes);
  cost.attention = {
      attention.forward.flops + attention.backward.flops, attention.forward.bytes + attention.backward.bytes, {}};
  cost.total = {cost.products.flops + cost.attention.flops + cost.head.flops,
                cost.products.bytes + cost.attention.bytes + cost.head.bytes,
                {}};
  cost.computed_share = sum.slots / (sizes.layers * dense_work(shape, length).slots);
  add_memory(cost, shape, sizes, sum.layout_bytes);
  if (rates) {
    add_seconds(cost, attention, *rates, mine);
  }
  return cost;
}

/// Whether sparse attention is faster; the rest of the model is the same.
bool is_faster(const Pattern& pattern, const ModelShape& shape, const MachineRates& rates, std::int64_t length) {
  const ModelCost sparse = sparse_cost(shape, length, layer_works(pattern, shape, length), rates);
  return *sparse.attention.seconds < *dense_cost(shape, length, rates).attention.seconds;
}

}  // namespace

void check_rates(const MachineRates& rates) { check_fields(rates, "rates"); }

std::vector<LayerWork> layer_works(const Pattern& pattern, const ModelShape& shape, std::int64_t length) {
  check_shape(shape, length);
  require(!pattern.needs_input() || !shape.input.empty(), "cost: the pattern names `input`; give the positions");
  const auto end = std::lower_bound(shape.input.begin(), shape.input.end(), length);  // a shorter text has fewer
  std::vector<LayerWork> works;
  std::string known;
  Site site;
  site.input = {shape.input.begin(), end};
  site.query_length = length;
  site.key_length = length;
  site.heads = shape.heads;
  site.maximum_length = shape.maximum_length;
  for (site.layer = 0; site.layer < shape.layers; ++site.layer) {
    pattern.check(site);
    std::string text;
    for (site.head = 0; site.head < site.heads; ++site.head) {
      text += Printer(Context(site)).node(pattern.root()).take() + "\n";
    }
    site.head = 0;
    if (works.empty() || text != known) {
      const LayoutStatistics found = statistics(compile(pattern, site, kTile));
      works.push_back({static_cast<double>(found.slots), static_cast<double>(found.blocks),
                       static_cast<double>(found.partial_blocks + found.weighted_blocks),
                       static_cast<double>(found.bytes)});
      known = std::move(text);
    } else {
      works.push_back(works.back());
      works.back().layout_bytes = 0;  // layers with equal patterns share a layout
    }
  }
  return works;
}

ModelCost sparse_cost(const ModelShape& shape, std::int64_t length, const std::vector<LayerWork>& works,
                      const std::optional<MachineRates>& rates) {
  check_shape(shape, length);
  require(std::ssize(works) == shape.layers, "cost: ", works.size(), " layers of work for a model of ", shape.layers);
  const LayerWork sum = sum_of(works);
  AttentionRates mine{};
  if (rates) {
    check_rates(*rates);
    const double each =
        (sum.blocks * rates->block_seconds + sum.masked * rates->masked_seconds) * static_cast<double>(shape.batch);
    mine = {rates->sparse_flops, rates->sparse_backward_flops, each * (shape.training ? 2 : 1)};
  }
  return cost_of(shape, length, sum, rates, mine);
}

ModelCost dense_cost(const ModelShape& shape, std::int64_t length, const std::optional<MachineRates>& rates) {
  check_shape(shape, length);
  const LayerWork sum =
      sum_of(std::vector<LayerWork>(static_cast<std::size_t>(shape.layers), dense_work(shape, length)));
  AttentionRates mine{};
  if (rates) {
    check_rates(*rates);
    mine = {rates->dense_flops, rates->dense_backward_flops, 0};
  }
  return cost_of(shape, length, sum, rates, mine);
}

std::optional<std::int64_t> crossover_length(const Pattern& pattern, const ModelShape& shape, const MachineRates& rates,
                                             std::int64_t longest) {
  constexpr std::int64_t kStep = 64;
  // From the long end: the answer is where the sparse form begins to win for good.
  std::int64_t wins = longest / kStep;
  if (wins < 1 || !is_faster(pattern, shape, rates, wins * kStep)) {
    return std::nullopt;
  }
  std::int64_t loses = wins / 2;
  while (loses >= 1 && is_faster(pattern, shape, rates, loses * kStep)) {
    wins = loses;
    loses /= 2;
  }
  while (wins - loses > 1) {
    const std::int64_t middle = loses + (wins - loses) / 2;
    (is_faster(pattern, shape, rates, middle * kStep) ? wins : loses) = middle;
  }
  return wins * kStep;
}

}  // namespace weft::pattern
