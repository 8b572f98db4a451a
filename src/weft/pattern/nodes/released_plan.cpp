// SPDX-License-Identifier: Apache-2.0
// random(r, plan=...): the plans of the published BigBird code, which are defined only beside its global and window
// blocks. This version has "hf-eval", what Hugging Face does outside training: every block that was to be drawn is
// block 0.
#include "weft/core/error.h"
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kMaximumCount = std::int64_t{1} << 20;

class HfEvalPlan final : public Node {
 public:
  HfEvalPlan(const Size& count, Span where) : count_(count), where_(where) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    const bool middle = query >= 1 && query + 1 < context.key_length;
    return middle && key == 0 ? static_cast<int>(count_.at(context)) : 0;
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int) const override {
    return first == 0 && multiplicity(context, query, 0) > 0 ? 1 : 0;
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    const int value = uniform(context, query, key);
    numbers.push_back(value);
    if (value == kMixed) {
      numbers.insert(numbers.end(), {query.begin, key.begin});
    }
  }
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kRandom; }
  std::int64_t period(const Context&) const override { return 0; }
  bool additive(const Context&) const override { return true; }
  NodeKind kind() const override { return NodeKind::kPlan; }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const int middle = interval_cover(query, 1, context.key_length - 2);
    const int start = interval_cover(key, 0, 0);
    if (middle == 0 || start == 0) {
      return 0;
    }
    return middle == 1 && start == 1 ? static_cast<int>(count_.at(context)) : kMixed;
  }
  void check(const Context& context) const override {
    check_size(context, count_, 0, *this, "r");
    if (count_.at(context) > kMaximumCount) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": r must be at most ", kMaximumCount);
    }
  }
  void print(Printer& printer) const override {
    printer.open("random");
    printer.argument().number(count_);
    printer.argument("plan").text("\"hf-eval\"").close();
  }
  Span where() const { return where_; }

 private:
  Size count_;
  Span where_;
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
  if (const auto* plan = dynamic_cast<const HfEvalPlan*>(&node)) {
    const bool inside = parent != nullptr && parent->kind() == NodeKind::kUnion && grandparent != nullptr &&
                        grandparent->kind() == NodeKind::kBlock;
    if (!inside || !is_released_union(*parent)) {
      fail_at(source, plan->where(),
              "a plan stands only inside block(b, global(first=1, last=1) | window(3) | random(r, plan=...))");
    }
  }
  for (const NodePtr& child : node.children()) {
    check_plans_below(source, *child, &node, parent);
  }
}

}  // namespace

NodePtr hf_eval_plan(const Size& count) { return std::make_shared<HfEvalPlan>(count, Span{}); }
void check_plans(std::string_view source, const Node& root) { check_plans_below(source, root, nullptr, nullptr); }

NodePtr build_random(const Call& call) {
  const std::string plan = call.has("plan") ? call.get("plan").text : "uniform";
  if (plan != "hf-eval") {
    call.fail(call.has("plan") ? "plan" : "",
              "'random' is a known name, but not in this version; only random(r, plan=\"hf-eval\") is",
              ErrorKind::kUnsupported);
  }
  const Size count = call.integer("r");
  if (count.value > kMaximumCount) {
    call.fail("r", concat("random: r must be at most ", kMaximumCount, ", found ", count.value));
  }
  return std::make_shared<HfEvalPlan>(count, call.where);
}

}  // namespace weft::pattern
