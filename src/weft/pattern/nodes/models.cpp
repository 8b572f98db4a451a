// SPDX-License-Identifier: Apache-2.0
// Names for published models: each is a short text that expands to an expression of the language.
#include "weft/core/error.h"
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

/// Answers as its expansion, prints as its name.
class Named final : public Node {
 public:
  Named(std::string text, NodePtr expansion) : text_(std::move(text)), expansion_(std::move(expansion)) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    return expansion_->multiplicity(context, query, key);
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    return expansion_->uniform(context, query, key);
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    return expansion_->row_bits(context, query, first, count);
  }
  void rows_bits(const Context& context, const Range& query, std::int64_t first, int count,
                 std::span<std::uint64_t> bits) const override {
    expansion_->rows_bits(context, query, first, count, bits);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    return expansion_->first_key(context, query, key);
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    expansion_->signature(context, query, key, numbers);
  }
  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    return expansion_->edge_kind(context, query, key);
  }
  std::int64_t period(const Context& context) const override { return expansion_->period(context); }
  const Node* expansion() const override { return expansion_.get(); }
  NodeKind kind() const override { return NodeKind::kName; }
  const Node& resolved(const Context& context) const override { return expansion_->resolved(context); }
  std::span<const NodePtr> children() const override { return {&expansion_, 1}; }
  void print(Printer& printer) const override { printer.text(text_); }

 private:
  std::string text_;
  NodePtr expansion_;
};

std::string text_of(const Size& size) { return size.layer ? "layer" : std::to_string(size.value); }

/// Writes the canonical arguments of a name: those that are not at their defaults.
class NameText {
 public:
  explicit NameText(const Call& call) : text_(call.name) {}

  NameText& add(std::string_view key, const std::string& value) {
    text_ += concat(first_ ? "(" : ", ", key, key.empty() ? "" : "=", value);
    first_ = false;
    return *this;
  }
  NameText& add_unless(bool is_default, std::string_view key, const std::string& value) {
    return is_default ? *this : add(key, value);
  }
  std::string done() const { return first_ ? text_ : text_ + ")"; }

 private:
  std::string text_;
  bool first_ = true;
};

bool is_split(const Call& call) { return call.word("split", "false") == "true"; }

}  // namespace

NodePtr named(std::string text, NodePtr expansion) { return make_node<Named>(std::move(text), std::move(expansion)); }

NodePtr build_longformer(const Call& call) {
  const std::string width = text_of(call.integer("w"));
  return named(NameText(call).add("", width).done(), parse_node("window(" + width + ") | global(input)"));
}

NodePtr build_etc(const Call& call) {
  const std::string global = text_of(call.integer("global"));
  const std::string window = text_of(call.integer("window"));
  return named(NameText(call).add("global", global).add("window", window).done(),
               parse_node("global(" + global + ") | window(" + window + ")"));
}

NodePtr build_star(const Call& call) { return named(NameText(call).done(), parse_node("ring(2) | global(1)")); }

NodePtr build_strided(const Call& call) {
  const std::string length = text_of(call.integer("l"));
  const std::string near = "window(left=" + length + ")";
  const std::string far = "stride(" + length + ")";
  const bool split = is_split(call);
  return named(
      NameText(call).add("", length).add_unless(!split, "split", "true").done(),
      parse_node(split ? "causal & heads(" + near + ", " + far + ")" : "causal & (" + near + " | " + far + ")"));
}

NodePtr build_fixed(const Call& call) {
  const std::string length = text_of(call.integer("l"));
  const std::string count = text_of(call.integer("c"));
  if (!call.integer("l").layer && !call.integer("c").layer && call.integer("c").value > call.integer("l").value) {
    call.fail("c", "fixed: c must be at most l, found " + count + " of " + length);
  }
  const std::string near = "segment(" + length + ")";
  const std::string far = "summary(" + length + ", " + count + ")";
  const bool split = is_split(call);
  return named(
      NameText(call).add("", length).add("", count).add_unless(!split, "split", "true").done(),
      parse_node(split ? "causal & heads(" + near + ", " + far + ")" : "causal & (" + near + " | " + far + ")"));
}

NodePtr build_bigbird(const Call& call) {
  const Size size = call.integer("block", 64);
  const Size window = call.integer("window", 3);
  const Size random = call.integer("random", 3);
  const Size seed = call.has("seed") ? call.integer("seed") : Size{0, true};
  const std::string plan = call.has("plan") ? call.get("plan").text : "released";
  if (window != Size{3} && plan != "uniform") {
    call.fail("window", concat("the plan \"", plan, "\" is defined for window=3, found ", text_of(window)));
  }
  const std::string from = plan == "hf-eval" ? "" : ", seed=" + text_of(seed);
  const std::string drawn = plan == "uniform" ? "" : ", plan=\"" + plan + "\"";
  return named(NameText(call)
                   .add_unless(size == Size{64}, "block", text_of(size))
                   .add_unless(window == Size{3}, "window", text_of(window))
                   .add_unless(random == Size{3}, "random", text_of(random))
                   .add_unless(seed == Size{0, true}, "seed", text_of(seed))
                   .add_unless(plan == "released", "plan", "\"" + plan + "\"")
                   .done(),
               parse_node(concat("block(", text_of(size), ", global(first=1, last=1) | window(", text_of(window),
                                 ") | random(", text_of(random), drawn, from, "))")));
}

}  // namespace weft::pattern
