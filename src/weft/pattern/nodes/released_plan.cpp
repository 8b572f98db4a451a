// SPDX-License-Identifier: Apache-2.0
// random(r, plan=...): the plans of the published BigBird code, which are defined only beside its global and window
// blocks. "released" is what that code draws; "hf-eval" what Hugging Face does outside training: every block that was
// to be drawn is block 0.
#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>

#include "weft/core/error.h"
#include "weft/pattern/language/names.h"
#include "weft/pattern/nodes/released_draw.h"
#include "weft/pattern/nodes/row_lists.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kPublishedMaximum = 4096;  // of the released models, where a site names none

/// A plan of published code: where it stands in the text, and how many blocks a row draws.
class PublishedPlan : public Node {
 public:
  PublishedPlan(const Size& count, Span where) : count_(count), where_(where) {}

  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kRandom; }
  std::int64_t period(const Context&) const override { return 0; }
  bool additive(const Context&) const override { return true; }
  NodeKind kind() const override { return NodeKind::kPlan; }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    const int value = uniform(context, query, key);
    numbers.push_back(value);
    if (value == kMixed) {
      numbers.insert(numbers.end(), {query.begin, key.begin});
    }
  }
  void check(const Context& context) const override {
    check_size(context, count_, 0, *this, "r");
    if (count_.at(context) > kMaximumDrawn) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": r must be at most ", kMaximumDrawn);
    }
  }
  Span where() const { return where_; }

 protected:
  Size count_;

 private:
  Span where_;
};

class HfEvalPlan final : public PublishedPlan {
 public:
  using PublishedPlan::PublishedPlan;

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    const bool middle = query >= 1 && query + 1 < context.key_length;
    return middle && key == 0 ? static_cast<int>(count_.at(context)) : 0;
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int) const override {
    return first == 0 && multiplicity(context, query, 0) > 0 ? 1 : 0;
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const int middle = interval_cover(query, 1, context.key_length - 2);
    const int start = interval_cover(key, 0, 0);
    if (middle == 0 || start == 0) {
      return 0;
    }
    return middle == 1 && start == 1 ? static_cast<int>(count_.at(context)) : kMixed;
  }
  void print(Printer& printer) const override {
    printer.open("random");
    printer.argument().number(count_);
    printer.argument("plan").text("\"hf-eval\"").close();
  }
};

class Released final : public PublishedPlan {
 public:
  Released(const Size& count, const Size& seed, Span where) : PublishedPlan(count, where), seed_(seed) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    const auto drawn = blocks(context);
    const auto row = drawn->row(context.head, query);
    return static_cast<int>(std::count(row.begin(), row.end(), key));
  }
  ListedKeys listed_keys(const Context& context) const override {
    const auto drawn = static_cast<double>(count_.at(context));
    return {drawn, drawn};
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    constexpr std::int64_t kSearched = 4096;  // rows
    if (query.size() > kSearched) {
      return kMixed;
    }
    const auto drawn = blocks(context);
    const bool one = query.size() == 1 && key.size() == 1;
    for (std::int64_t each = query.begin; each < query.end && !one; ++each) {
      const auto row = drawn->row(context.head, each);
      if (std::any_of(row.begin(), row.end(), [&](std::int64_t k) { return key.begin <= k && k < key.end; })) {
        return kMixed;
      }
    }
    return one ? multiplicity(context, query.begin, key.begin) : 0;
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    const auto drawn = blocks(context);
    std::uint64_t bits = 0;
    for (const std::int32_t key : drawn->row(context.head, query)) {
      bits |= key >= first && key < first + count ? std::uint64_t{1} << (key - first) : 0;
    }
    return bits;
  }

  void check(const Context& context) const override {
    PublishedPlan::check(context);
    constexpr std::int64_t kLargest = std::numeric_limits<std::uint32_t>::max();
    if (seed_.at(context) > kLargest) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": the seed of a released plan is at most ", kLargest,
           ", found ", seed_.at(context));
    }
    const ReleasedPlan plan = plan_at(context);
    if (is_cut_from_maximum(plan) && plan.maximum_blocks < plan.blocks) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": at ", plan.blocks * plan.block,
           " tokens the plan is cut from that of the model's maximum length, which is only ", context.maximum_length);
    }
    blocks(context);
  }

  void print(Printer& printer) const override {
    printer.open("random");
    printer.argument().number(count_);
    printer.argument("plan").text("\"released\"");
    if (seed_ != Size{}) {
      printer.argument("seed").number(seed_);
    }
    if (printer.resolved() != nullptr) {
      printer.argument("head").number({printer.resolved()->head});
    }
    printer.close();
  }

 private:
  ReleasedPlan plan_at(const Context& context) const {
    const std::int64_t maximum = context.maximum_length > 0 ? context.maximum_length : kPublishedMaximum;
    return {.blocks = context.key_length,
            .block = context.unit,
            .random = count_.at(context),
            .heads = context.heads,
            .seed = static_cast<std::uint32_t>(seed_.at(context)),
            .maximum_blocks = ceil_divide(maximum, context.unit)};
  }

  /// All heads at once, because their draws follow each other; the plan asked for last is kept.
  std::shared_ptr<const ReleasedBlocks> blocks(const Context& context) const {
    const ReleasedPlan plan = plan_at(context);
    const std::scoped_lock lock(mutex_);
    if (drawn_ == nullptr || plan != drawn_plan_) {
      drawn_ = std::make_shared<const ReleasedBlocks>(plan);
      drawn_plan_ = plan;
    }
    return drawn_;
  }

  Size seed_;
  mutable std::mutex mutex_;
  mutable ReleasedPlan drawn_plan_;
  mutable std::shared_ptr<const ReleasedBlocks> drawn_;
};

/// Whether a union inside a block is what the released plans are defined for.
bool is_released_union(const Node& terms) {
  bool global = false;
  bool window = false;
  for (const NodePtr& term : terms.children()) {
    const std::string text = to_string(*term);
    const bool is_global = text == "global(first=1, last=1)";
    const bool is_window = text == "window(3)";
    if (!is_global && !is_window && term->kind() != NodeKind::kPlan) {
      return false;
    }
    global = global || is_global;
    window = window || is_window;
  }
  return global && window;
}

void check_plans_below(std::string_view source, const Node& node, const Node* parent, const Node* grandparent) {
  if (const auto* plan = dynamic_cast<const PublishedPlan*>(&node)) {
    const bool inside = parent != nullptr && parent->kind() == NodeKind::kUnion && grandparent != nullptr &&
                        grandparent->kind() == NodeKind::kBlock;
    if (!inside || !is_released_union(*parent)) {
      fail_at(source, plan->where(),
              "a plan can only be written inside block(b, global(first=1, last=1) | window(3) | random(r, plan=...))");
    }
  }
  for (const NodePtr& child : node.children()) {
    check_plans_below(source, *child, &node, parent);
  }
}

}  // namespace

NodePtr hf_eval_plan(const Size& count) { return make_node<HfEvalPlan>(count, Span{}); }
void check_plans(std::string_view source, const Node& root) { check_plans_below(source, root, nullptr, nullptr); }

NodePtr build_published_plan(const Call& call) {
  const Size count = call.integer("r");
  if (call.has("share")) {
    call.fail("share", "a plan of published code draws for each head separately; remove 'share'");
  }
  if (call.get("plan").text == "hf-eval") {
    return make_node<HfEvalPlan>(count, call.where);
  }
  const Size seed = call.integer("seed", 0);
  if (seed.value > std::numeric_limits<std::uint32_t>::max()) {
    call.fail("seed", concat("random: the seed of a released plan is at most 2^32 - 1, found ", seed.value));
  }
  return make_node<Released>(count, seed, call.where);
}

}  // namespace weft::pattern
