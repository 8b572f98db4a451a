// SPDX-License-Identifier: Apache-2.0
// Patterns that depend on key - query alone: full, causal, window, ring, circle and stride. Moving both positions by
// one changes nothing, which is what makes them cheap to compile.
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

/// A set of differences key - query.
class Difference : public Node {
 public:
  explicit Difference(EdgeKind kind) : kind_(kind) {}

  int multiplicity(const Context& context, std::int64_t query, std::int64_t key) const override {
    return cover(context, {key - query, key - query + 1});
  }
  int uniform(const Context& context, const Range& query, const Range& key) const override {
    return cover(context, differences(query, key));
  }
  std::uint64_t row_bits(const Context& context, std::int64_t query, std::int64_t first, int count) const override {
    return bits(context, first - query, count);
  }
  void signature(const Context& context, const Range& query, const Range& key, Signature& numbers) const override {
    const int value = uniform(context, query, key);
    numbers.push_back(value);
    if (value == kMixed) {
      numbers.push_back(phase(context, key.begin - query.begin));
    }
  }
  EdgeKind edge_kind(const Context&, std::int64_t, std::int64_t) const override { return kind_; }
  std::int64_t period(const Context&) const override { return 1; }
  bool by_distance() const override { return true; }

 protected:
  /// As Node::uniform for a range of differences; exact for one difference.
  virtual int cover(const Context& context, const Range& range) const = 0;
  /// Bit i is the difference first + i.
  virtual std::uint64_t bits(const Context& context, std::int64_t first, int count) const = 0;

  /// What tells ranges of differences apart that begin at `difference`.
  virtual std::int64_t phase(const Context&, std::int64_t difference) const { return difference; }

 private:
  EdgeKind kind_;
};

class Full final : public Difference {
 public:
  Full() : Difference(EdgeKind::kFull) {}
  int cover(const Context&, const Range&) const override { return 1; }
  std::uint64_t bits(const Context&, std::int64_t, int count) const override { return low_bits(count); }
  void print(Printer& printer) const override { printer.text("full"); }
};

class Causal final : public Difference {
 public:
  Causal() : Difference(EdgeKind::kFull) {}
  int cover(const Context&, const Range& range) const override { return interval_cover(range, -kMaximumSize, 0); }
  std::uint64_t bits(const Context&, std::int64_t first, int count) const override {
    return interval_bits(-kMaximumSize, 0, first, count);
  }
  std::int64_t first_key(const Context&, const Range& query, const Range& key) const override {
    return key.begin < query.end ? key.begin : key.end;
  }
  void print(Printer& printer) const override { printer.text("causal"); }
};

struct WindowShape {
  Size width;  ///< of window(w); 0 where left and right are given
  Size left;
  Size right;
  Size dilation{1};
};

class Window final : public Difference {
 public:
  explicit Window(const WindowShape& shape) : Difference(EdgeKind::kWindow), shape_(shape) {}

  int cover(const Context& context, const Range& range) const override {
    const auto [low, high] = bounds(context);
    const int inside = interval_cover(range, low, high);
    const std::int64_t dilation = shape_.dilation.at(context);
    if (inside == 0 || dilation == 1) {
      return inside;
    }
    const Range clipped{std::max(range.begin, low), std::min(range.end, high + 1)};
    const int steps = periodic_cover(clipped, dilation, 0, 1);
    return steps == 1 && inside != 1 ? kMixed : steps;
  }

  std::uint64_t bits(const Context& context, std::int64_t first, int count) const override {
    const auto [low, high] = bounds(context);
    const std::uint64_t inside = interval_bits(low, high, first, count);
    const std::int64_t dilation = shape_.dilation.at(context);
    return inside == 0 || dilation == 1 ? inside : inside & periodic_bits(dilation, 0, 1, first, count);
  }

  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    const auto [low, high] = bounds(context);
    return key.begin > query.end - 1 + high ? key.end : std::clamp(query.begin + low, key.begin, key.end);
  }

  void check(const Context& context) const override {
    check_size(context, shape_.width, shape_.width == Size{} ? 0 : 1, *this, "w");
    check_size(context, shape_.dilation, 1, *this, "dilation");
  }

  void print(Printer& printer) const override {
    printer.open("window");
    const Size none;
    if (shape_.width != none) {
      printer.argument().number(shape_.width);
    } else {
      if (shape_.left != none || shape_.right == none) {
        printer.argument("left").number(shape_.left);
      }
      if (shape_.right != none) {
        printer.argument("right").number(shape_.right);
      }
    }
    if (shape_.dilation != Size{1}) {
      printer.argument("dilation").number(shape_.dilation);
    }
    printer.close();
  }

 private:
  struct Bounds {
    std::int64_t low;
    std::int64_t high;
  };
  Bounds bounds(const Context& context) const {
    const bool centred = shape_.width != Size{};
    const std::int64_t half = shape_.width.at(context) / 2;
    const std::int64_t dilation = shape_.dilation.at(context);
    return {-saturating_product(centred ? half : shape_.left.at(context), dilation),
            saturating_product(centred ? half : shape_.right.at(context), dilation)};
  }

  WindowShape shape_;
};

class Ring final : public Difference {
 public:
  explicit Ring(const Size& width) : Difference(EdgeKind::kWindow), width_(width) {}

  int cover(const Context& context, const Range& range) const override {
    const std::int64_t half = width_.at(context) / 2;
    return periodic_cover(range, std::max<std::int64_t>(context.key_length, 1), -half, 2 * half + 1);
  }
  std::int64_t phase(const Context& context, std::int64_t difference) const override {
    return floor_modulo(difference, std::max<std::int64_t>(context.key_length, 1));
  }
  std::uint64_t bits(const Context& context, std::int64_t first, int count) const override {
    const std::int64_t half = width_.at(context) / 2;
    return periodic_bits(std::max<std::int64_t>(context.key_length, 1), -half, 2 * half + 1, first, count);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    const std::int64_t half = width_.at(context) / 2;
    return periodic_first(key, std::max<std::int64_t>(context.key_length, 1), query.begin - half,
                          2 * half + query.size());
  }
  bool by_distance() const override { return false; }  // where the circle closes, the length says
  void check(const Context& context) const override { check_size(context, width_, 1, *this, "w"); }
  void print(Printer& printer) const override {
    printer.open("ring");
    printer.argument().number(width_).close();
  }

 private:
  Size width_;
};

struct CircleShape {
  Size left;
  Size right;
  Size multiple{1};
};

/// What Reformer's chunks see, as released: those beside their own, counted once for each way to them. A circle of at
/// most left + right cells is walked round more than once.
class Circle final : public Difference {
 public:
  explicit Circle(const CircleShape& shape) : Difference(EdgeKind::kWindow), shape_(shape) {}

  int cover(const Context& context, const Range& range) const override {
    const Steps steps = steps_of(context);
    const int more = periodic_cover(range, steps.cells, steps.first, steps.rest);
    return more == kMixed ? kMixed : steps.rounds + more;
  }
  std::int64_t phase(const Context& context, std::int64_t difference) const override {
    return floor_modulo(difference, steps_of(context).cells);
  }
  std::uint64_t bits(const Context& context, std::int64_t first, int count) const override {
    const Steps steps = steps_of(context);
    return steps.rounds > 0 ? low_bits(count) : periodic_bits(steps.cells, steps.first, steps.rest, first, count);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    const Steps steps = steps_of(context);
    return steps.rounds > 0
               ? key.begin
               : periodic_first(key, steps.cells, query.begin + steps.first, steps.rest + query.size() - 1);
  }
  NodeKind kind() const override { return NodeKind::kCounted; }
  bool by_distance() const override { return false; }  // as of a ring
  void check(const Context& context) const override {
    check_size(context, shape_.multiple, 1, *this, "multiple");
    constexpr std::int64_t kMostSteps = 1 << 20;  // a multiplicity is an int
    for (const auto& [size, name] : {std::pair(shape_.left, "left"), std::pair(shape_.right, "right")}) {
      if (size.at(context) > kMostSteps) {
        fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": ", name, " must be at most ", kMostSteps,
             ", found ", size.at(context));
      }
    }
  }
  void print(Printer& printer) const override {
    printer.open("circle");
    if (shape_.left != Size{} || shape_.right == Size{}) {
      printer.argument("left").number(shape_.left);
    }
    if (shape_.right != Size{}) {
      printer.argument("right").number(shape_.right);
    }
    if (shape_.multiple != Size{1}) {
      printer.argument("multiple").number(shape_.multiple);
    }
    printer.close();
  }

 private:
  /// left + 1 + right steps on a circle of `cells`: so many whole rounds, and `rest` steps from `first` on.
  struct Steps {
    std::int64_t cells;
    std::int64_t first;
    std::int64_t rest;
    int rounds;
  };
  Steps steps_of(const Context& context) const {
    // One cell is a text that fits into a chunk: nobody pads it.
    const std::int64_t given = std::max<std::int64_t>(context.key_length, 1);
    const std::int64_t multiple = shape_.multiple.at(context);
    const std::int64_t cells = given == 1 ? 1 : saturating_product(ceil_divide(given, multiple), multiple);
    const std::int64_t left = shape_.left.at(context);
    const std::int64_t total = cells == 1 ? 1 : left + 1 + shape_.right.at(context);
    return {cells, -left, total % cells, static_cast<int>(total / cells)};
  }

  CircleShape shape_;
};

class Stride final : public Difference {
 public:
  explicit Stride(const Size& length) : Difference(EdgeKind::kStride), length_(length) {}

  int cover(const Context& context, const Range& range) const override {
    return periodic_cover(range, length_.at(context), 0, 1);
  }
  std::int64_t phase(const Context& context, std::int64_t difference) const override {
    return floor_modulo(difference, length_.at(context));
  }
  std::uint64_t bits(const Context& context, std::int64_t first, int count) const override {
    return periodic_bits(length_.at(context), 0, 1, first, count);
  }
  std::int64_t first_key(const Context& context, const Range& query, const Range& key) const override {
    return periodic_first(key, length_.at(context), query.begin, query.size());
  }
  std::int64_t stride(const Context& context) const override { return length_.at(context); }
  void check(const Context& context) const override { check_size(context, length_, 1, *this, "l"); }
  void print(Printer& printer) const override {
    printer.open("stride");
    printer.argument().number(length_).close();
  }

 private:
  Size length_;
};

}  // namespace

NodePtr build_full(const Call&) { return make_node<Full>(); }
NodePtr build_causal(const Call&) { return make_node<Causal>(); }
NodePtr build_ring(const Call& call) { return make_node<Ring>(call.integer("w")); }
NodePtr build_circle(const Call& call) {
  return make_node<Circle>(CircleShape{
      .left = call.integer("left", 0), .right = call.integer("right", 0), .multiple = call.integer("multiple", 1)});
}
NodePtr build_stride(const Call& call) { return make_node<Stride>(call.integer("l")); }

NodePtr build_window(const Call& call) {
  const bool sides = call.has("left") || call.has("right");
  if (call.has("w") && sides) {
    call.fail(call.has("left") ? "left" : "right", "window takes a width or left and right, not both");
  }
  if (!call.has("w") && !sides) {
    call.fail("w", "window needs a width, or left and right: " + std::string(find_name("window")->usage));
  }
  return make_node<Window>(WindowShape{.width = call.integer("w", 0),
                                       .left = call.integer("left", 0),
                                       .right = call.integer("right", 0),
                                       .dilation = call.integer("dilation", 1)});
}

}  // namespace weft::pattern
