// SPDX-License-Identifier: Apache-2.0
// Random graphs: random(r), r distinct keys for each query (BigBird, Zaheer et al. 2020); erdos_renyi(p), each edge on
// its own; watts_strogatz(k, beta), a ring with rewired edges (Watts and Strogatz 1998). Draws are Philox of
// (seed, head, query), so that a row needs no other.
#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/pattern/language/names.h"
#include "weft/pattern/nodes/row_lists.h"

namespace weft::pattern {
namespace {

/// What all three share: a seed, and whether the heads draw apart.
class Random : public RowLists {
 public:
  explicit Random(const Size& seed, bool shared = false) : seed_(seed), shared_(shared) {}

 protected:
  std::uint64_t draw(DrawFor kind, const Context& context, std::int64_t query, std::int64_t index) const {
    return draw_bits(kind, seed_.at(context), shared_ ? 0 : context.head + 1, query, index);
  }

  void print_seed(Printer& printer) const {
    if (seed_ != Size{}) {
      printer.argument("seed").number(seed_);
    }
    if (shared_) {
      printer.argument("share").text("heads");
    } else if (printer.resolved() != nullptr) {
      printer.argument("head").number({printer.resolved()->head});  // heads with equal text share a layout
    }
    printer.close();
  }

 private:
  Size seed_;
  bool shared_;
};

class RandomKeys final : public Random {
 public:
  RandomKeys(const Size& count, const Size& seed, bool shared) : Random(seed, shared), count_(count) {}

  void check(const Context& context) const override {
    check_size(context, count_, 0, *this, "r");
    if (count_.at(context) > kMaximumDrawn) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": r must be at most ", kMaximumDrawn, ", found ",
           count_.at(context), " (the layer's number)");
    }
  }
  void print(Printer& printer) const override {
    printer.open("random");
    printer.argument().number(count_);
    print_seed(printer);
  }

 protected:
  RowKeys keys(const Context& context, std::int64_t query, std::int64_t) const override {
    const std::int64_t bound = context.key_length;
    const std::int64_t count = std::min(count_.at(context), bound);
    const bool few = count <= bound / 2;  // else the keys left out are drawn: rejection stays cheap
    RowKeys drawn = distinct(context, query, few ? count : bound - count);
    return few ? drawn : all_but(drawn, bound);
  }
  double row_work(const Context& context) const override {
    const std::int64_t count = std::min(count_.at(context), context.key_length);
    const std::int64_t drawn = std::min(count, context.key_length - count);
    return static_cast<double>(std::max(drawn, count / 16));  // writing a key down is cheaper than a draw
  }
  int everywhere(const Context& context) const override {
    const std::int64_t count = count_.at(context);
    return count == 0 ? 0 : (count >= context.key_length ? 1 : kMixed);
  }

 private:
  /// Draws until enough differ: every set of `count` keys is equally likely.
  RowKeys distinct(const Context& context, std::int64_t query, std::int64_t count) const {
    RowKeys drawn;
    const auto bound = static_cast<std::uint64_t>(context.key_length);
    for (std::int64_t index = 0; std::ssize(drawn) < count;) {
      for (std::int64_t missing = count - std::ssize(drawn); missing > 0; --missing) {
        const std::uint64_t bits = draw(DrawFor::kRandom, context, query, index++);
        drawn.push_back(static_cast<std::int64_t>(random_below(bits, bound)));
      }
      std::sort(drawn.begin(), drawn.end());
      drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    }
    return drawn;
  }

  static RowKeys all_but(const RowKeys& left_out, std::int64_t bound) {
    RowKeys rest;
    auto next = left_out.begin();
    for (std::int64_t key = 0; key < bound; ++key) {
      if (next != left_out.end() && *next == key) {
        ++next;
      } else {
        rest.push_back(key);
      }
    }
    return rest;
  }

  Size count_;
};

class ErdosRenyi final : public Random {
 public:
  ErdosRenyi(double probability, const Size& seed) : Random(seed), probability_(probability) {
    constexpr double kEdges = 16;  // of a chunk where the probability is small
    while (static_cast<double>(chunk_) * probability < kEdges && chunk_ < (std::int64_t{1} << 40)) {
      chunk_ *= 2;
    }
  }

  void print(Printer& printer) const override {
    printer.open("erdos_renyi");
    printer.argument().text(shortest(probability_));
    print_seed(printer);
  }

 protected:
  std::int64_t chunk_length(const Context&) const override { return chunk_; }

  /// Skips have no memory, so that every chunk begins them anew.
  RowKeys keys(const Context& context, std::int64_t query, std::int64_t chunk) const override {
    const std::int64_t end = std::min((chunk + 1) * chunk_, context.key_length);
    // floor(log u / log(1 - p)) is how many keys are skipped before the next edge (Batagelj and Brandes 2005).
    const double scale = 1 / std::log1p(-probability_);
    RowKeys drawn;
    for (std::int64_t key = chunk * chunk_, index = 0; key < end; ++key, ++index) {
      const double skip =
          std::floor(std::log(draw_unit(draw(DrawFor::kErdosRenyi, context, query, (chunk << 12) + index))) * scale);
      // The negation also ends at infinity and NaN, which the smallest probabilities give.
      if (!(skip < static_cast<double>(end - key))) {
        break;
      }
      key += static_cast<std::int64_t>(skip);
      drawn.push_back(key);
    }
    return drawn;
  }

  double row_work(const Context& context) const override {
    const auto keys = static_cast<double>(context.key_length);
    return 1 + probability_ * keys + keys / static_cast<double>(chunk_);
  }
  int everywhere(const Context&) const override { return probability_ == 0 ? 0 : (probability_ == 1 ? 1 : kMixed); }

 private:
  double probability_;
  std::int64_t chunk_ = 1024;
};

class WattsStrogatz final : public Random {
 public:
  /// Replacing an edge walks the row: at this width a row takes some hundredths of a second.
  static constexpr std::int64_t kMaximumWidth = 8192;

  WattsStrogatz(const Size& width, double rewired, const Size& seed) : Random(seed), width_(width), rewired_(rewired) {}

  /// An edge of the ring keeps the ring's colour.
  EdgeKind edge_kind(const Context& context, std::int64_t query, std::int64_t key) const override {
    const std::int64_t half = width_.at(context) / 2;
    const Range difference{key - query, key - query + 1};
    const bool near =
        periodic_cover(difference, std::max<std::int64_t>(context.key_length, 1), -half, 2 * half + 1) == 1;
    return near ? EdgeKind::kWindow : EdgeKind::kRandom;
  }
  void check(const Context& context) const override {
    check_size(context, width_, 1, *this, "k");
    if (width_.at(context) > kMaximumWidth && everywhere(context) == kMixed) {
      fail(ErrorKind::kExpression, "pattern: ", to_string(*this), ": k must be at most ", kMaximumWidth,
           ", or cover the ", context.key_length, " keys");
    }
  }
  void print(Printer& printer) const override {
    printer.open("watts_strogatz");
    printer.argument().number(width_);
    printer.argument().text(shortest(rewired_));
    print_seed(printer);
  }

 protected:
  RowKeys keys(const Context& context, std::int64_t query, std::int64_t) const override {
    const std::int64_t length = context.key_length;
    const std::int64_t reach = half(context);
    RowKeys row;
    for (std::int64_t step = -reach; step <= reach; ++step) {
      row.push_back(floor_modulo(query + step, length));
    }
    std::sort(row.begin(), row.end());
    // Two draws an edge, taken by the edge's number: whether it is rewired, and where to. Edges to the left come first.
    for (std::int64_t edge = 0; edge < 2 * reach; ++edge) {
      if (draw_unit(draw(DrawFor::kWattsStrogatz, context, query, 2 * edge)) <= rewired_) {
        const std::int64_t step = edge < reach ? edge - reach : edge - reach + 1;  // the query itself stays
        rewire(row, floor_modulo(query + step, length), length,
               draw(DrawFor::kWattsStrogatz, context, query, 2 * edge + 1));
      }
    }
    return row;
  }
  /// Each rewired edge walks the row.
  double row_work(const Context& context) const override {
    const auto width = static_cast<double>(2 * half(context));
    return 1 + 2 * width + rewired_ * width * width / 32;
  }
  int everywhere(const Context& context) const override { return half(context) >= context.key_length / 2 ? 1 : kMixed; }

 private:
  std::int64_t half(const Context& context) const { return width_.at(context) / 2; }

  /// Replaces `old` by one of the keys that the row does not have, all equally likely.
  static void rewire(RowKeys& row, std::int64_t old, std::int64_t length, std::uint64_t bits) {
    const auto absent = static_cast<std::uint64_t>(length - std::ssize(row));
    auto target = static_cast<std::int64_t>(random_below(bits, absent));
    for (auto key = row.begin(); key != row.end() && *key <= target; ++key) {
      ++target;
    }
    row.erase(std::lower_bound(row.begin(), row.end(), old));
    row.insert(std::lower_bound(row.begin(), row.end(), target), target);
  }

  Size width_;
  double rewired_;
};

}  // namespace

NodePtr build_random(const Call& call) {
  const std::string plan = call.has("plan") ? call.get("plan").text : "uniform";
  const Size count = call.integer("r");
  if (count.value > kMaximumDrawn) {
    call.fail("r", concat("random: r must be at most ", kMaximumDrawn, ", found ", count.value));
  }
  if (plan == "uniform") {
    return make_node<RandomKeys>(count, call.integer("seed", 0), call.has("share"));
  }
  return build_published_plan(call);
}

NodePtr build_erdos_renyi(const Call& call) {
  return make_node<ErdosRenyi>(call.get("p").real, call.integer("seed", 0));
}

NodePtr build_watts_strogatz(const Call& call) {
  return make_node<WattsStrogatz>(call.integer("k"), call.get("beta").real, call.integer("seed", 0));
}

}  // namespace weft::pattern
