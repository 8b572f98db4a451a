// SPDX-License-Identifier: Apache-2.0
// global(...): positions that attend to all and that all attend to (BigBird, Longformer, ETC): the first, the last, a
// list, or the positions bound to `input`; one half of it with side=keys (attention sinks) or side=queries.
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

enum class Side { kBoth, kKeys, kQueries };

struct GlobalShape {
  Size first;
  Size last;
  std::vector<std::int64_t> at;  // ascending, distinct
  bool input = false;
  Side side = Side::kBoth;
};

/// kMixed unless a term says 1 for all of the range, or every term says 0.
int either(int a, int b) { return std::max(a, b) == 1 ? 1 : std::min(a, b); }

/// As interval_cover, for ascending positions given in tokens on a grid of `unit` tokens a cell.
int list_cover(std::span<const std::int64_t> positions, std::int64_t unit, const Range& range) {
  const auto begin = std::lower_bound(positions.begin(), positions.end(), saturating_product(range.begin, unit));
  const auto end = std::lower_bound(begin, positions.end(), saturating_product(range.end, unit));
  if (begin == end) {
    return 0;
  }
  return range.size() == 1 ? 1 : kMixed;
}

/// The first cell of the range that holds one of the positions; its end where none does.
std::int64_t list_first(std::span<const std::int64_t> positions, std::int64_t unit, const Range& range) {
  const auto next = std::lower_bound(positions.begin(), positions.end(), saturating_product(range.begin, unit));
  return next == positions.end() ? range.end : *next / unit;
}

std::uint64_t list_bits(std::span<const std::int64_t> positions, std::int64_t unit, std::int64_t first, int count) {
  std::uint64_t bits = 0;
  auto next = positions.begin();
  for (std::int64_t cell = first; cell < first + count;) {
    next = std::lower_bound(next, positions.end(), saturating_product(cell, unit));
    if (next == positions.end() || *next / unit >= first + count) {
      break;
    }
    cell = *next / unit;
    bits |= std::uint64_t{1} << (cell - first);
    ++cell;
  }
  return bits;
}

class Global final : public Node {
 public:
  explicit Global(GlobalShape shape) : shape_(std::move(shape)) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    return uniform(context, {query, query + 1}, {key, key + 1});
  }

  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const int queries = shape_.side == Side::kKeys ? 0 : cover(context, query);
    return queries == 1 || shape_.side == Side::kQueries ? queries : either(queries, cover(context, key));
  }

  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    if (shape_.side != Side::kKeys && cover(context, {query, query + 1}) == 1) {
      return low_bits(count);
    }
    if (shape_.side == Side::kQueries) {
      return 0;
    }
    std::uint64_t bits = interval_bits(0, shape_.first.at(context) - 1, first, count) |
                         interval_bits(last_begin(context), context.key_length - 1, first, count) |
                         list_bits(shape_.at, 1, first, count);
    if (shape_.input) {
      bits |= list_bits(context.input, context.unit, first, count);
    }
    return bits;
  }

  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    if (shape_.side != Side::kKeys && cover(context, query) != 0) {
      return key.begin;
    }
    if (shape_.side == Side::kQueries) {
      return key.end;
    }
    if (key.begin < shape_.first.at(context)) {
      return key.begin;
    }
    std::int64_t first = shape_.last == Size{} ? key.end : last_begin(context);
    first = std::min(first, list_first(shape_.at, 1, key));
    first = shape_.input ? std::min(first, list_first(context.input, context.unit, key)) : first;
    return std::clamp(first, key.begin, key.end);
  }

  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    for (const Range& range : {query, key}) {
      const int covered = cover(context, range);
      numbers.push_back(covered);
      if (covered == kMixed) {
        numbers.push_back(range.begin);
      }
    }
  }

  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kGlobal; }
  std::int64_t period(const Context&) const override { return 0; }
  bool uses_input() const override { return shape_.input; }
  void odd_queries(const Context& context, std::vector<Range>& ranges) const override {
    if (shape_.side == Side::kKeys) {
      return;
    }
    ranges.push_back({0, shape_.first.at(context)});
    ranges.push_back({last_begin(context), context.key_length});
    for (const std::int64_t position : shape_.at) {
      ranges.push_back({position, position + 1});
    }
    for (std::size_t i = 0; i < context.input.size() && shape_.input; ++i) {
      ranges.push_back({context.input[i] / context.unit, context.input[i] / context.unit + 1});
    }
  }

  void check(const Context& context) const override {
    check_size(context, shape_.first, 0, *this, "first");
    check_size(context, shape_.last, 0, *this, "last");
  }

  void print(Printer& printer) const override {
    const Size none;
    const bool first_only = shape_.last == none && shape_.at.empty() && !shape_.input;
    printer.open("global");
    if (shape_.first != none || first_only) {
      printer.argument(first_only ? "" : "first").number(shape_.first);
    }
    if (shape_.last != none) {
      printer.argument("last").number(shape_.last);
    }
    if (!shape_.at.empty()) {
      printer.argument("at").text("[");
      for (std::size_t i = 0; i < shape_.at.size(); ++i) {
        printer.text(i == 0 ? "" : ", ").number({shape_.at[i]});
      }
      printer.text("]");
    }
    if (shape_.input) {
      printer.argument().text("input");
    }
    if (shape_.side != Side::kBoth) {
      printer.argument("side").text(shape_.side == Side::kKeys ? "keys" : "queries");
    }
    printer.close();
  }

 private:
  std::int64_t last_begin(const Context& context) const {
    return std::max<std::int64_t>(context.key_length - shape_.last.at(context), 0);
  }

  /// Whether positions are global; exact for one position.
  int cover(const Context& context, const Range& range) const {
    int result = interval_cover(range, 0, shape_.first.at(context) - 1);
    if (result != 1 && shape_.last != Size{}) {
      result = either(result, interval_cover(range, last_begin(context), context.key_length - 1));
    }
    if (result != 1 && !shape_.at.empty()) {
      result = either(result, list_cover(shape_.at, 1, range));
    }
    if (result != 1 && shape_.input) {
      result = either(result, list_cover(context.input, context.unit, range));
    }
    return result;
  }

  GlobalShape shape_;
};

}  // namespace

NodePtr build_global(const Call& call) {
  GlobalShape shape;
  shape.first = call.integer("first", 0);
  shape.last = call.integer("last", 0);
  shape.input = call.has("input");
  if (call.has("at")) {
    shape.at = call.get("at").list;
    std::sort(shape.at.begin(), shape.at.end());
    shape.at.erase(std::unique(shape.at.begin(), shape.at.end()), shape.at.end());
  }
  const std::string side = call.word("side", "");
  shape.side = side == "keys" ? Side::kKeys : (side == "queries" ? Side::kQueries : Side::kBoth);
  if (!call.has("first") && !call.has("last") && !call.has("at") && !shape.input) {
    call.fail("first", "global needs positions: " + std::string(find_name("global")->usage));
  }
  return make_node<Global>(std::move(shape));
}

}  // namespace weft::pattern
