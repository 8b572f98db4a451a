// SPDX-License-Identifier: Apache-2.0
// The syntax tree. A node answers in three grains: one cell (the meaning), a word of up to 64 keys of one query, and a
// rectangle of cells; and it prints itself. Positions are absolute, in cells of the grid that the Context describes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/pattern/edge_kind.h"
#include "weft/pattern/interval.h"
#include "weft/pattern/site.h"

namespace weft::pattern {

class Node;
class Printer;
using NodePtr = std::shared_ptr<const Node>;

/// The site on one grid: tokens at the root (unit 1), blocks inside `block`. Query positions are
/// [query_offset, query_offset + query_length), key positions [0, key_length).
struct Context {
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  std::int64_t query_offset = 0;
  std::int64_t unit = 1;  ///< tokens a cell
  std::int64_t head = 0;
  std::int64_t heads = 1;
  std::int64_t layer = 0;
  std::int64_t maximum_length = 0;           ///< in tokens
  std::span<const std::int64_t> input = {};  ///< in tokens, ascending

  explicit Context(const Site& site);
};

/// A whole number in an expression, or `layer`.
struct Size {
  std::int64_t value = 0;
  bool layer = false;
  std::int64_t at(const Context& context) const noexcept { return layer ? context.layer : value; }
  friend bool operator==(const Size&, const Size&) = default;
};

/// Throws kExpression when `size`, which may be `layer`, is below `minimum` here. `node` and `name` are for the
/// message.
void check_size(const Context& context, const Size& size, std::int64_t minimum, const Node& node,
                std::string_view name);

/// How many keys a node draws or looks up to answer about one query: for its whole row, and at least. 0 where its edges
/// follow from arithmetic.
struct ListedKeys {
  double row = 0;
  double least = 0;
};

/// What a node is to those who walk a tree. Of kPlan and kCounted multiplicities may exceed 1.
enum class NodeKind { kPrimitive, kCounted, kUnion, kIntersection, kComplement, kBlock, kHeads, kPlan, kName };

using Signature = std::vector<std::int64_t>;

enum class Precedence { kUnion, kIntersection, kUnary, kPrimary };

class Node {
 public:
  Node() noexcept;
  virtual ~Node() = default;

  /// Tells nodes apart whose text does not say all of them: whoever derives a class in a program of their own may print
  /// anything. Nodes of the language (make_node()) have 0: equal text is equal edges.
  std::uint64_t serial() const noexcept { return serial_; }

  /// 0 no edge, 1 an edge, more a weight.
  virtual int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const = 0;
  /// The multiplicity that all cells of the rectangle share, or kMixed. May say kMixed for an even rectangle, but is
  /// exact for a single cell.
  virtual int uniform(const Context& context, const Range& query, const Range& key) const = 0;
  /// Bit i is the edge query -> first_key + i, for i in [0, count), count <= 64; the other bits are 0.
  virtual std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first_key,
                                 int count) const = 0;
  /// row_bits of every query of the range: `bits` has a word for each. Nodes override it where that is faster than a
  /// query at a time.
  virtual void rows_bits(const Context& context, const Range& query, std::int64_t first_key, int count,
                         std::span<std::uint64_t> bits) const;
  /// No query of the range has an edge to a key in [key.begin, result); the result is in [key.begin, key.end]. Nodes
  /// whose edges lie far apart override it, so that the compiler goes from one to the next.
  virtual std::int64_t first_key(const Context&, const Range& /*query*/, const Range& key) const { return key.begin; }
  /// Appends numbers that tell contents apart: two rectangles of equal sizes with equal numbers have equal
  /// multiplicities.
  virtual void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const = 0;
  /// What granted an edge that is there.
  virtual EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const = 0;

  /// p > 0 when multiplicity(q + p, k + p) == multiplicity(q, k) for all positions, in cells; 0 when there is no such
  /// p.
  virtual std::int64_t period(const Context& context) const = 0;
  /// Whether an edge depends on key - query alone, in a text of any length: a node without children says so of itself,
  /// one with children does not ask.
  virtual bool by_distance() const { return false; }
  /// What an answer about one query costs beyond arithmetic; by default the sum over the children.
  virtual ListedKeys listed_keys(const Context& context) const;
  /// Appends the queries whose rows may hold far more than those around them, as ranges of the grid in any order, also
  /// beyond its ends: a sample of rows would miss them.
  virtual void odd_queries(const Context& context, std::vector<Range>& ranges) const;
  /// l where the node is exactly the edges (q - k) mod l = 0 of its grid, else 0.
  virtual std::int64_t stride(const Context&) const { return 0; }
  /// Whether overlaps inside a union add up: the released plans.
  virtual bool additive(const Context&) const { return false; }
  /// Throws kExpression where the node does not fit the site.
  virtual void check(const Context& context) const;
  /// The node that stands here for the context's head, names expanded.
  virtual const Node& resolved(const Context&) const { return *this; }

  /// What a name stands for; null for a node that is no name.
  virtual const Node* expansion() const { return nullptr; }

  /// The file that the node was read from, below the directory of its expression, and the same graph as such a file;
  /// empty where it needs none.
  virtual std::string_view file_name() const { return {}; }
  virtual std::string file_content() const { return {}; }

  virtual NodeKind kind() const { return NodeKind::kPrimitive; }
  virtual bool uses_input() const { return false; }
  virtual std::span<const NodePtr> children() const { return {}; }
  virtual Precedence precedence() const { return Precedence::kPrimary; }
  virtual void print(Printer& printer) const = 0;

 private:
  template <typename Made, typename... Arguments>
  friend std::shared_ptr<const Made> make_node(Arguments&&... arguments);

  std::uint64_t serial_;
};

/// A node of the language, whose expanded text says all of it.
template <typename Made, typename... Arguments>
std::shared_ptr<const Made> make_node(Arguments&&... arguments) {
  const auto node = std::make_shared<Made>(std::forward<Arguments>(arguments)...);
  static_cast<Node&>(*node).serial_ = 0;
  return node;
}

/// Whether `predicate` holds for the node or any below it.
template <typename Predicate>
bool any_node(const Node& node, const Predicate& predicate) {
  if (predicate(node)) {
    return true;
  }
  for (const NodePtr& child : node.children()) {
    if (any_node(*child, predicate)) {
      return true;
    }
  }
  return false;
}

/// Whether edges below `node` depend on key - query alone: a text that loses its beginning keeps all others. Blocks
/// count from the beginning.
inline bool is_by_distance(const Node& node) {
  return !any_node(node, [](const Node& each) {
    return each.children().empty() ? !each.by_distance() : each.kind() == NodeKind::kBlock;
  });
}

/// Whether a multiplicity below `node` may exceed 1.
inline bool is_counted(const Node& node) {
  return any_node(node,
                  [](const Node& each) { return each.kind() == NodeKind::kPlan || each.kind() == NodeKind::kCounted; });
}

/// Builds the canonical text of a tree.
class Printer {
 public:
  enum class Names { kKept, kExpanded };

  explicit Printer(Names names = Names::kKept) : names_(names) {}
  /// Prints what stands for one head and layer: two heads with equal text have equal patterns. As in all expanded text,
  /// nodes that are none of the language's carry their serial number.
  explicit Printer(const Context& resolved) : names_(Names::kExpanded), resolved_(&resolved) {}

  Printer& text(std::string_view piece);
  Printer& number(const Size& size);
  Printer& node(const Node& node, Precedence minimum = Precedence::kUnion);
  /// Begins an argument: a comma where one is needed, and `key=` unless it is empty.
  Printer& argument(std::string_view key = {});
  void open(std::string_view name);
  Printer& close();

  bool expanded() const noexcept { return names_ == Names::kExpanded; }
  /// Whether what was printed so far may differ from layer to layer: it names `layer`, or holds a node that is none of
  /// the language's, of which nothing is known.
  bool depends_on_layer() const noexcept { return depends_on_layer_; }
  const Context* resolved() const noexcept { return resolved_; }
  std::string take() { return std::move(text_); }

 private:
  Names names_;
  const Context* resolved_ = nullptr;
  std::string text_;
  bool first_ = true;
  bool depends_on_layer_ = false;
};

std::string to_string(const Node& node);

}  // namespace weft::pattern
