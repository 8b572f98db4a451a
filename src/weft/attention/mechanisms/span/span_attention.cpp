// SPDX-License-Identifier: Apache-2.0
// Spans become a distance table by LibTorch's operators, so that autograd carries the table's gradient on to them, and
// a pattern of windows that has exactly the edges whose m is not 0.
#include "weft/attention/mechanisms/span/span_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "weft/attention/mechanisms/pattern_attention.h"
#include "weft/attention/mechanisms/relative/relative_layout.h"
#include "weft/attention/mechanisms/relative/relative_product.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/attention/mechanisms/settings.h"
#include "weft/attention/operator/checks.h"
#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/state/keys_and_values.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"

namespace weft::attention {
namespace {

// A table of as many distances for 16 heads takes 128 MB.
constexpr std::int64_t kLongestSpan = std::int64_t{1} << 20;
constexpr std::int64_t kUsualRamp = 32;  // as released

struct SpanSettings {
  std::int64_t longest;
  std::int64_t ramp;
  std::int64_t first;
  bool positions;
  std::vector<std::int64_t> reaches;
};

void check_fixed(const SpanSettings& settings, const MechanismSettings& given) {
  given.check_all_taken({"max", "reaches", "positions"});
  if (!settings.positions) {
    fail(ErrorKind::kExpression,
         "attention: reaches of `span` need positions=shared; without, they are heads(window(left=...), ...)");
  }
  for (const std::int64_t reach : settings.reaches) {
    if (reach >= settings.longest) {
      fail(ErrorKind::kExpression, "attention: reaches of `span` must be below its max ", settings.longest, ", found ",
           reach);
    }
  }
}

SpanSettings span_settings(const std::string& expression) {
  MechanismSettings given(expression, "span");
  SpanSettings settings{given.number("max", 0, 1, kLongestSpan), kUsualRamp, 0,
                        given.word("positions", {"no", "shared"}) == "shared",
                        given.numbers("reaches", 0, kLongestSpan)};
  if (settings.longest == 0) {
    fail(ErrorKind::kExpression,
         "attention: `span` needs max, the longest span that a head can learn, for example span(max=1024)");
  }
  if (!settings.reaches.empty()) {
    check_fixed(settings, given);
    return settings;
  }
  settings.ramp = given.number("ramp", kUsualRamp, 1, kLongestSpan);
  settings.first = given.number("init", 0, 0, kLongestSpan);
  given.check_all_taken({"max", "ramp", "init", "positions", "reaches"});
  if (settings.first > settings.longest) {
    fail(ErrorKind::kExpression, "attention: init of `span` must be at most its max ", settings.longest, ", found ",
         settings.first);
  }
  return settings;
}

// Before anything is learned nobody knows more than the longest span.
double span_operations(const MechanismSite& site, std::int64_t length) {
  const auto tokens = static_cast<double>(length);
  const double keys = site.causal ? tokens / 2 : tokens;
  return 4 * tokens * keys * static_cast<double>(site.head_dim);
}

}  // namespace

/// What spans come to for calls of up to `length` positions, and of which values of them.
struct SpanAttention::Kept {
  DistanceTable table;
  std::vector<std::int64_t> lefts;
  std::optional<pattern::Pattern> pattern;
  std::int64_t length = 0;
  const void* spans = nullptr;
  std::int64_t version = -1;
};

std::string fixed_spans(const std::vector<std::int64_t>& lefts, std::int64_t longest) {
  return concat("span(max=", longest,
                ", reaches=", joined(lefts, "/", [](std::int64_t left) { return std::to_string(left); }),
                ", positions=shared)");
}

MechanismSpec parse_span(const std::string& expression) {
  const SpanSettings settings = span_settings(expression);
  MechanismSpec spec;
  spec.name = "span";
  if (settings.reaches.empty()) {
    spec.description = concat("span(max=", settings.longest, ", ramp=", settings.ramp,
                              settings.first > 0 ? concat(", init=", settings.first) : std::string(),
                              settings.positions ? ", positions=shared" : "", ")");
    spec.parameters = {"spans"};
  } else {
    spec.description = fixed_spans(settings.reaches, settings.longest);
    spec.heads = std::ssize(settings.reaches);
  }
  spec.keeps_memory = true;
  // Ramps of learned spans are a table of distances; a profile knows it, or products with distances.
  spec.not_observed =
      settings.positions && settings.reaches.empty()
          ? "span(positions=shared) has a table of distances and products with distances, and a profile "
            "knows one of them"
          : "";
  if (settings.positions) {
    spec.brings_positions = true;
    spec.parameters.emplace_back("positions");
    spec.limits.distances = "its own scores know the distance";
  }
  spec.limits.cross = "positions of two texts have no distance";
  spec.operations = span_operations;
  return spec;
}

std::string window_of_heads(const std::vector<std::int64_t>& lefts, bool causal) {
  const auto window = [&](std::int64_t left) {
    return causal ? concat("window(left=", left, ")") : concat("window(left=", left, ", right=", left, ")");
  };
  std::string shares;
  for (std::size_t first = 0; first < lefts.size();) {
    std::size_t end = first + 1;
    while (end < lefts.size() && lefts[end] == lefts[first]) {
      ++end;
    }
    if (end - first == lefts.size()) {
      return window(lefts[first]);
    }
    shares += concat(shares.empty() ? "" : ", ", end - first, " * ", window(lefts[first]));
    first = end;
  }
  return concat("heads(", shares, ")");
}

SpanAttention::SpanAttention(MechanismSpec spec, const MechanismSite& site, const at::TensorOptions& options)
    : AttentionImpl(with_learned_distances(std::move(spec), site), site),
      DistanceBiased(DistanceBiases(site, *this, options)),
      kept_(std::make_shared<Kept>()) {
  const SpanSettings settings = span_settings(this->spec().description);
  longest_ = settings.longest;
  ramp_ = settings.ramp;
  reaches_ = settings.reaches;
  const at::NoGradGuard without_gradients;
  if (learns_spans()) {
    spans_ = register_parameter("spans", at::empty({site.heads}, options));
    spans_.fill_(static_cast<double>(settings.first) / static_cast<double>(longest_));
  }
  shares_ = settings.positions;
  if (shares_ && site.layer == 0) {
    positions_ = register_parameter("positions", at::empty({longest_, site.head_dim}, options));
    positions_.normal_(0.0, 1.0);
  }
}

void SpanAttention::share(AttentionImpl& first) {
  share_distances(*this, first);
  if (!shares_ || site().layer == 0) {
    return;
  }
  auto* const owner = first.as<SpanAttention>();
  require(owner != nullptr && owner->shares_ && owner->longest_ == longest_, "attention of layer ", site().layer, ": `",
          description(),
          "` takes its positions from layer 0, which must be `span(positions=shared)` with max=", longest_,
          " too, found `", first.description(), "`");
  positions_ = owner->positions_;
}

std::vector<at::Tensor> SpanAttention::shared_parameters() const {
  return shares_ && site().layer > 0 ? std::vector<at::Tensor>{positions_} : biases_.shared();
}

at::Tensor SpanAttention::with_positions(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                         const AttentionContext& context, const Kept& spans) const {
  check_tensors(query, key, value, context.key_keep);
  require(positions_.defined() && query.size(3) == site().head_dim, "attention: `", description(), "` of layer ",
          site().layer, " needs the positions of layer 0 and queries of ", site().head_dim, " columns, found ",
          query.sizes());
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::autocast_dispatch_keyset);
  const std::int64_t reach = *std::max_element(spans.lefts.begin(), spans.lefts.end());
  const std::int64_t farthest = std::clamp<std::int64_t>(context.query_offset + query.size(2) - 1, 0, reach);
  const std::int64_t nearest =
      site().causal ? 0 : -std::clamp<std::int64_t>(key.size(2) - 1 - context.query_offset, 0, reach);
  const at::Tensor rows =
      positions_.index_select(0, at::arange(nearest, farthest + 1, positions_.options().dtype(at::kLong)).abs());
  const at::Tensor none = at::zeros({site().heads, site().head_dim}, positions_.options().requires_grad(false));
  const at::Tensor keep = kept_queries(context, query);
  const at::Tensor kept = kept_keys(context, key);
  DistanceTable mask;
  if (learns_spans()) {
    mask = {spans.table.scores.to(accumulation_type(query)).unsqueeze(1), spans.table.zero};
  }
  RelativeCall call{.query = without_padding(query, keep),
                    .key = without_padding(key, kept),
                    .value = without_padding(value, kept),
                    .distances = rows.unsqueeze(0).expand({site().heads, -1, -1}),
                    .content_bias = none,
                    .distance_bias = none,
                    .keep = kept,
                    .nearest = nearest,
                    .query_offset = context.query_offset,
                    .left = reach,
                    .causal = site().causal,
                    .added = mask,
                    .reaches = spans.lefts,
                    .seen = spans.pattern->to_string()};
  const DropoutOfCall dropped = dropout_of(context);
  call.dropout = dropped.probability;
  call.seed = dropped.seed;
  if (!learns_spans() && context.observer != nullptr) {
    MassCall shown = mass_call_of(call);
    shown.query_keep = keep;
    show_call(*this, context, std::move(shown));
  }
  return without_padding(relative_attention(call), keep);
}

at::Tensor SpanAttention::spans() const {
  require(learns_spans(), "attention of layer ", site().layer, ": `", description(), "` learns no spans");
  const at::Tensor shares = spans_.to(at::kDouble);
  // LibTorch's clamp has no gradient at its ends, and the first span is 0.
  const at::Tensor inside = shares + (shares.clamp(0.0, 1.0) - shares).detach();
  return inside * static_cast<double>(longest_);
}

void SpanAttention::constrain() {
  const at::NoGradGuard without_gradients;
  if (learns_spans()) {
    spans_.clamp_(0.0, 1.0);
  }
}

std::vector<std::int64_t> SpanAttention::reach(double least) const {
  if (!learns_spans()) {
    return reaches_;
  }
  const at::NoGradGuard without_gradients;
  // The same sum as in computed(): what it calls positive and what is an edge must be the same distances.
  const at::Tensor ends = (spans() + (1.0 - least) * static_cast<double>(ramp_)).to(at::kCPU);
  std::vector<std::int64_t> lefts;
  lefts.reserve(static_cast<std::size_t>(ends.size(0)));
  for (std::int64_t head = 0; head < ends.size(0); ++head) {
    const double end = ends.const_data_ptr<double>()[head];
    if (!std::isfinite(end)) {
      fail(ErrorKind::kNumeric, "attention of layer ", site().layer, ": the span of head ", head, " is ", end);
    }
    const auto farthest = static_cast<std::int64_t>(std::ceil(end)) - 1;
    lefts.push_back(std::clamp<std::int64_t>(farthest, 0, longest_ - 1));
  }
  return lefts;
}

SpanAttention::Kept SpanAttention::computed(std::int64_t length) const {
  Kept made;
  made.lefts = reach();
  made.length = length;
  made.pattern = pattern::Pattern::parse(window_of_heads(made.lefts, site().causal));
  if (!learns_spans()) {
    return made;
  }
  const std::int64_t count = std::min(length, *std::max_element(made.lefts.begin(), made.lefts.end()) + 1);
  const auto ramp = static_cast<double>(ramp_);
  const at::Tensor distances = at::arange(count, at::TensorOptions(spans_.device()).dtype(at::kDouble));
  const at::Tensor mask = ((spans() + ramp).unsqueeze(1) - distances) / ramp;  // m before the clamp, [H, count]
  // Within the ramp alone: the logarithm of 0 would make the gradient of a span NaN although nobody sees that distance.
  const at::Tensor inside = (mask > 0.0).logical_and(mask < 1.0);
  at::Tensor scores = at::where(inside, mask, 1.0).log();
  if (!site().causal && count > 1) {
    scores = at::cat({scores.narrow(1, 1, count - 1).flip({1}), scores}, 1);
  }
  if (biases_.defined()) {
    const std::int64_t behind = site().causal ? 0 : count - 1;
    const at::Tensor table = biases_.table(count - 1, distances.options()).scores;  // of both sides
    scores = scores + table.narrow(1, count - 1 - behind, count + behind);
  }
  made.table = {scores, site().causal ? 0 : count - 1};
  return made;
}

SpanAttention::Kept SpanAttention::kept_for(std::int64_t length) {
  const bool learned = learns_spans();
  if (learned && (at::GradMode::is_enabled() || spans_.is_inference())) {
    return computed(length);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!learned) {
    if (!kept_->pattern) {
      *kept_ = computed(length);
    }
    return *kept_;
  }
  const std::int64_t version = static_cast<std::int64_t>(spans_._version()) + biases_.version();
  if (kept_->spans != spans_.const_data_ptr() || kept_->version != version || kept_->length < length) {
    // Room for the tokens that follow: n of them compute O(n) entries in total.
    *kept_ = computed(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length))));
    kept_->spans = spans_.const_data_ptr();
    kept_->version = version;
  }
  return *kept_;
}

std::unique_ptr<AttentionState> SpanAttention::initial_state() const {
  const std::vector<std::int64_t> lefts = reach();
  auto state = std::make_unique<KeysAndValues>(site().layer);
  state->limit(std::max<std::int64_t>(1, *std::max_element(lefts.begin(), lefts.end())));
  return state;
}

at::Tensor SpanAttention::forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                  const AttentionContext& context) {
  require(query.dim() == 4 && key.dim() == 4 && query.size(1) == site().heads,
          "attention: query and key must be [batch, heads, length, head_dim] with ", site().heads,
          " heads of queries, found ", query.sizes(), " and ", key.sizes());
  const std::int64_t positions = std::max({context.query_offset + query.size(2), key.size(2), std::int64_t{1}});
  const Kept spans = kept_for(positions);
  if (shares_) {
    return with_positions(query, key, value, context, spans);
  }
  AttentionOptions options;
  options.key_keep = context.key_keep;
  options.distances = spans.table;
  const DropoutOfCall dropped = dropout_of(context);
  options.dropout = dropped.probability;
  options.seed = dropped.seed;
  const LayoutPtr layout = layout_for_call(*spans.pattern, site(), query, key, context, false);
  show_call(
      *this, context,
      {.query = query, .key = key, .layout = layout, .key_keep = options.key_keep, .distances = options.distances});
  return attention(query, key, value, layout, options).output;
}

}  // namespace weft::attention
