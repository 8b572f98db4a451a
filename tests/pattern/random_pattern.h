// SPDX-License-Identifier: Apache-2.0
// Random expressions over the whole language, and random sites that they fit, from a seed that a failing test prints.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "weft/pattern/site.h"

namespace weft::test {

class RandomPattern {
 public:
  explicit RandomPattern(std::uint64_t seed) : engine_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  /// An expression at most `depth` operators deep. `heads` may be asked for once on a path.
  std::string expression(int depth, bool heads = true) {
    if (depth == 0) {
      return primitive();
    }
    switch (between(0, heads ? 7 : 6)) {
      case 0:
      case 1:
        return "(" + expression(depth - 1, heads) + " | " + expression(depth - 1, heads) + ")";
      case 2:
        return "(" + expression(depth - 1, heads) + " & " + expression(depth - 1, heads) + ")";
      case 3:
        return "!" + expression(depth - 1, heads);
      case 4:
        return "block(" + block_size() + ", " + expression(depth - 1, heads) + ")";
      case 5:
        return "block(" + block_size() + ", global(first=1, last=1) | window(3) | random(" + number(0, 3) +
               (chance(50) ? ", plan=\"hf-eval\"))" : ", plan=\"released\", seed=" + number(0, 9) + "))");
      case 6:
        return primitive();
      default:
        return chance(50) ? "heads(" + expression(depth - 1, false) + ", " + expression(depth - 1, false) + ")"
                          : "heads(1 * " + expression(depth - 1, false) + ", 3 * " + expression(depth - 1, false) + ")";
    }
  }

  std::string primitive() {
    const std::string length = number(1, 40);
    const std::string choices[] = {
        "full",
        "causal",
        "star",
        "window(layer)",
        "window(" + number(1, 60) + ")",
        "window(left=" + number(0, 70) + ", right=" + number(0, 9) + ")",
        "window(" + number(1, 20) + ", dilation=" + number(1, 9) + ")",
        "window(right=" + number(0, 30) + ", dilation=" + number(1, 80) + ")",
        "ring(" + number(1, 50) + ")",
        "circle(left=" + number(0, 70) + ", right=" + number(0, 9) + ", multiple=" + number(1, 9) + ")",
        "global(first=" + number(0, 3) + ", last=" + number(0, 3) + side() + ")",
        "global(at=[" + number(0, 90) + ", " + number(0, 9) + "]" + side() + ")",
        "global(input" + side() + ")",
        "stride(" + length + ")",
        "segment(" + length + ")",
        "summary(" + number(12, 40) + ", " + number(1, 12) + ")",
        "axial(300, " + length + ")",
        "longformer(" + length + ")",
        "strided(" + length + ")",
        "fixed(" + number(8, 40) + ", 3)",
        "random(" + number(0, 9) + ", seed=layer)",
        "random(" + number(0, 120) + ", seed=" + number(0, 9) + ", share=heads)",
        "erdos_renyi(0." + number(0, 99) + ", seed=" + number(0, 9) + ")",
        "watts_strogatz(" + number(1, 40) + ", 0." + number(0, 9) + ", seed=layer)",
    };
    return choices[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(std::size(choices)) - 1))];
  }

  /// Lengths to 200; 4 heads, layer 3, often an offset, and bound positions in `input`.
  pattern::Site site(std::vector<std::int64_t>& input) {
    pattern::Site site;
    site.query_length = between(0, 200);
    site.key_length = chance(40) ? site.query_length : between(0, 200);
    site.query_offset = chance(60) ? 0 : between(0, 250);
    site.heads = 4;
    site.layer = 3;
    for (std::int64_t i = between(0, 4); i > 0 && site.key_length > 0; --i) {
      input.push_back(between(0, site.key_length - 1));
    }
    return site;
  }

 private:
  std::string number(std::int64_t low, std::int64_t high) { return std::to_string(between(low, high)); }
  std::string block_size() {
    constexpr const char* kSizes[] = {"1", "2", "3", "4", "5", "6", "10", "12", "20", "60"};
    return kSizes[between(0, 9)];
  }
  std::string side() {
    const std::int64_t choice = between(0, 3);
    return choice == 0 ? ", side=keys" : (choice == 1 ? ", side=queries" : "");
  }

  std::mt19937_64 engine_;
};

}  // namespace weft::test
