// SPDX-License-Identifier: Apache-2.0
// What the workbench shows of one expression: its picture, the measures of its graph, and its cost in a model, as
// `weft pattern show, stats, cost --json` print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/inspect/cost/model_cost.h"
#include "weft/pattern/pattern.h"

namespace weft::page {

/// An expression and where it is asked at. Lengths, heads and layers are bounded, so that no expression holds others up
/// for long.
struct PatternQuestion {
  std::string expression;
  std::int64_t length = 1024;
  std::int64_t heads = 1;
  std::int64_t layers = 6;
  std::int64_t max_length = 0;
  std::vector<std::int64_t> input;
  std::int64_t cells = 128;
  bool figures = true;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = PatternQuestion;
    visit(Field{"expression", &C::expression, "a pattern, as docs/pattern-language.md explains"});
    visit(Field{"length", &C::length, "tokens of the sequence"}.range(1, 4096));
    visit(Field{"heads", &C::heads, "attention heads of a layer, each 64 wide"}.range(1, 16));
    visit(Field{"layers", &C::layers, "layers of the model"}.range(1, 24));
    visit(Field{"max_length", &C::max_length, "longest sequence that the model was made for; 0 if unknown"}.range(
        0, 1 << 20));
    visit(Field{"input", &C::input, "positions that `input` stands for"});
    visit(Field{"cells", &C::cells, "cells of a picture on each side, at most"}.range(8, 256));
    visit(Field{"figures", &C::figures, "measure the graph and its cost, too"});
  }
};

/// {"expression", "expanded", "picture"}, and with `figures` "graph" and "cost"; seconds only with `rates`. Errors:
/// those of the pattern; kArgument for one that draws too many random keys.
formats::Json pattern_answer(const pattern::Pattern& pattern, const PatternQuestion& question,
                             const std::optional<inspect::MachineRates>& rates);

}  // namespace weft::page
