// SPDX-License-Identifier: Apache-2.0
// The canonical printer, and what all nodes share.
#include "weft/pattern/syntax.h"

#include <atomic>
#include <utility>

#include "weft/core/error.h"

namespace weft::pattern {

Context::Context(const Site& site)
    : query_length(site.query_length),
      key_length(site.key_length),
      query_offset(site.query_offset),
      head(site.head),
      heads(site.heads),
      layer(site.layer),
      maximum_length(site.maximum_length),
      input(site.input) {}

void check_size(const Context& context, const Size& size, std::int64_t minimum, const Node& node,
                std::string_view name) {
  if (size.at(context) < minimum) {
    fail(ErrorKind::kExpression, "pattern: ", to_string(node), ": ", name, " must be at least ", minimum, ", found ",
         size.at(context), size.layer ? " (the layer's number)" : "");
  }
}

Node::Node() noexcept {
  static std::atomic<std::uint64_t> last{0};
  serial_ = ++last;
}

void Node::check(const Context& context) const {
  for (const NodePtr& child : children()) {
    child->check(context);
  }
}

ListedKeys Node::listed_keys(const Context& context) const {
  ListedKeys sum;
  for (const NodePtr& child : children()) {
    const ListedKeys listed = child->listed_keys(context);
    sum.row += listed.row;
    sum.least += listed.least;
  }
  return sum;
}

void Node::odd_queries(const Context& context, std::vector<Range>& ranges) const {
  for (const NodePtr& child : children()) {
    child->odd_queries(context, ranges);
  }
}

void Node::rows_bits(const Context& context, const Range& query, std::int64_t first_key, int count,
                     std::span<std::uint64_t> bits) const {
  for (std::int64_t each = query.begin; each < query.end; ++each) {
    bits[static_cast<std::size_t>(each - query.begin)] = row_bits(context, each, first_key, count);
  }
}

Printer& Printer::text(std::string_view piece) {
  text_ += piece;
  return *this;
}

Printer& Printer::number(const Size& size) {
  depends_on_layer_ = depends_on_layer_ || size.layer;
  if (size.layer && resolved_ == nullptr) {
    return text("layer");
  }
  return text(std::to_string(resolved_ == nullptr ? size.value : size.at(*resolved_)));
}

Printer& Printer::node(const Node& node, Precedence minimum) {
  const Node* shown = resolved_ == nullptr ? &node : &node.resolved(*resolved_);
  while (names_ == Names::kExpanded && shown->expansion() != nullptr) {
    shown = shown->expansion();
  }
  const bool parentheses = shown->precedence() < minimum;
  text(parentheses ? "(" : "");
  const bool first = std::exchange(first_, true);
  shown->print(*this);
  first_ = first;
  depends_on_layer_ = depends_on_layer_ || shown->serial() != 0;
  if (names_ == Names::kExpanded && shown->serial() != 0) {
    text(concat("#", shown->serial()));
  }
  return text(parentheses ? ")" : "");
}

Printer& Printer::argument(std::string_view key) {
  text(std::exchange(first_, false) ? "" : ", ").text(key);
  return text(key.empty() ? "" : "=");
}

void Printer::open(std::string_view name) {
  text(name).text("(");
  first_ = true;
}

Printer& Printer::close() { return text(")"); }

std::string to_string(const Node& node) {
  Printer printer;
  return printer.node(node).take();
}

}  // namespace weft::pattern
