// SPDX-License-Identifier: Apache-2.0
// Patterns that repeat along the sequence but depend on where they stand: segment and summary (Sparse Transformer,
// Child et al. 2019) and axial, the rows and columns of an image laid out as one sequence.
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

/// What a range of queries and a range of keys say about floor(query / length) == floor(key / length).
int same_segment(std::int64_t length, const Range& query, const Range& key) {
  const Range queries{query.begin / length, (query.end - 1) / length + 1};
  const Range keys{key.begin / length, (key.end - 1) / length + 1};
  if (queries.end <= keys.begin || keys.end <= queries.begin) {
    return 0;
  }
  return queries.size() == 1 && keys.size() == 1 ? 1 : kMixed;
}

std::uint64_t segment_bits(std::int64_t length, std::int64_t query, std::int64_t first, int count) {
  const std::int64_t begin = query - query % length;
  return interval_bits(begin, begin + (length - 1), first, count);
}

/// The first of the keys in a segment of the queries.
std::int64_t segment_first(std::int64_t length, const Range& query, const Range& key) {
  const std::int64_t last = (query.end - 1) / length;
  return key.begin / length > last ? key.end : std::clamp(query.begin / length * length, key.begin, key.end);
}

void segment_signature(std::int64_t length, const Range& query, const Range& key, Signature& numbers) {
  const int value = same_segment(length, query, key);
  numbers.push_back(value);
  if (value == kMixed) {
    numbers.insert(numbers.end(),
                   {query.begin % length, key.begin % length, key.begin / length - query.begin / length});
  }
}

class Segment final : public Node {
 public:
  explicit Segment(const Size& length) : length_(length) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    return query / length_.at(context) == key / length_.at(context) ? 1 : 0;
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    return same_segment(length_.at(context), query, key);
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    return segment_bits(length_.at(context), query, first, count);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    return segment_first(length_.at(context), query, key);
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    segment_signature(length_.at(context), query, key, numbers);
  }
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kSegment; }
  std::int64_t period(const Context& context) const override { return length_.at(context); }
  void check(const Context& context) const override { check_size(context, length_, 1, *this, "l"); }
  void print(Printer& printer) const override {
    printer.open("segment");
    printer.argument().number(length_).close();
  }

 private:
  Size length_;
};

class Summary final : public Node {
 public:
  Summary(const Size& length, const Size& count) : length_(length), count_(count) {}

  int multiplicity(const Context& context, std::int64_t, std::int64_t key) const override {
    return key % length_.at(context) >= length_.at(context) - count_.at(context) ? 1 : 0;
  }
  int uniform(const Context& context, const Range&, const Range& key) const override {
    return periodic_cover(key, length_.at(context), start(context), count_.at(context));
  }
  std::uint64_t row_bits(const Context& context, std::int64_t, std::int64_t first, int count) const override {
    return periodic_bits(length_.at(context), start(context), count_.at(context), first, count);
  }
  std::int64_t first_key(const Context& context, const Range&, const Range& key) const override {
    return periodic_first(key, length_.at(context), start(context), count_.at(context));
  }
  void signature(const Context& context, const Range&, const Range& key, Signature& numbers) const override {
    numbers.push_back(key.begin % length_.at(context));
  }
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return EdgeKind::kSummary; }
  std::int64_t period(const Context& context) const override { return length_.at(context); }
  void check(const Context& context) const override {
    check_size(context, length_, 1, *this, "l");
    check_size(context, count_, 1, *this, "c");
    if (count_.at(context) > length_.at(context)) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": c must be at most l, found ", count_.at(context),
           " of ", length_.at(context));
    }
  }
  void print(Printer& printer) const override {
    printer.open("summary");
    printer.argument().number(length_);
    printer.argument().number(count_).close();
  }

 private:
  std::int64_t start(const Context& context) const { return length_.at(context) - count_.at(context); }

  Size length_;
  Size count_;
};

class Axial final : public Node {
 public:
  Axial(const Size& rows, const Size& columns) : rows_(rows), columns_(columns) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    const std::int64_t columns = columns_.at(context);
    return query / columns == key / columns || query % columns == key % columns ? 1 : 0;
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    const std::int64_t columns = columns_.at(context);
    const int row = same_segment(columns, query, key);
    const int column = periodic_cover(differences(query, key), columns, 0, 1);
    return std::max(row, column) == 1 ? 1 : std::min(row, column);
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    const std::int64_t columns = columns_.at(context);
    return segment_bits(columns, query, first, count) | periodic_bits(columns, 0, 1, first - query, count);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    const std::int64_t columns = columns_.at(context);
    return std::min(segment_first(columns, query, key), periodic_first(key, columns, query.begin, query.size()));
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    segment_signature(columns_.at(context), query, key, numbers);
    numbers.push_back(floor_modulo(key.begin - query.begin, columns_.at(context)));
  }
  /// A row of the grid is a segment, a column a stride.
  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    return query / columns_.at(context) == key / columns_.at(context) ? EdgeKind::kSegment : EdgeKind::kStride;
  }
  std::int64_t period(const Context& context) const override { return columns_.at(context); }
  void check(const Context& context) const override {
    check_size(context, rows_, 1, *this, "rows");
    check_size(context, columns_, 1, *this, "columns");
    const std::int64_t positions = saturating_product(rows_.at(context), columns_.at(context));
    const std::int64_t needed = std::max(context.key_length, context.query_offset + context.query_length);
    if (needed > positions) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), " has ", positions, " positions, but the call needs ",
           needed);
    }
  }
  void print(Printer& printer) const override {
    printer.open("axial");
    printer.argument().number(rows_);
    printer.argument().number(columns_).close();
  }

 private:
  Size rows_;
  Size columns_;
};

}  // namespace

NodePtr build_segment(const Call& call) { return make_node<Segment>(call.integer("l")); }

NodePtr build_summary(const Call& call) {
  const Size length = call.integer("l");
  const Size count = call.integer("c");
  if (!length.layer && !count.layer && count.value > length.value) {
    call.fail("c", concat("summary: c must be at most l, found ", count.value, " of ", length.value));
  }
  return make_node<Summary>(length, count);
}

NodePtr build_axial(const Call& call) { return make_node<Axial>(call.integer("rows"), call.integer("columns")); }

}  // namespace weft::pattern
