// SPDX-License-Identifier: Apache-2.0
// What the page of `weft attention --serve` asks: a head, a part of it in smaller cells, or a row.
#pragma once

#include <cstdint>

#include "weft/core/fields.h"

namespace weft::viewer {

constexpr double kFurthestPosition = 2147483648.0;

/// Which head, in every question.
template <typename Question, typename Visitor>
void visit_head(Visitor& visit) {
  visit(Field{"part", &Question::part, "number of the part in the list of GET /v1/view"}.range(0, 1 << 20));
  visit(Field{"head", &Question::head, "number of the head in the list of its part"}.range(0, 1 << 20));
}

/// A whole head.
struct HeadQuestion {
  std::int64_t part = 0;
  std::int64_t head = 0;
  bool rows = true;
  bool patient = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = HeadQuestion;
    visit_head<C>(visit);
    visit(Field{"rows", &C::rows, "whether the strongest keys of all rows are listed"});
    visit(Field{"patient", &C::patient, "whether heads that a reader looks at may be drawn before"});
  }
};

/// A part of a head: where it begins and how finely it is drawn.
struct TileQuestion {
  std::int64_t part = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t cell = 1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TileQuestion;
    visit_head<C>(visit);
    visit(Field{"row", &C::row, "first query, a multiple of the cell"}.range(0, kFurthestPosition));
    visit(Field{"column", &C::column, "first key, a multiple of the cell"}.range(0, kFurthestPosition));
    visit(Field{"cell", &C::cell, "tokens on each side of a cell, a power of two"}.range(1, kFurthestPosition));
  }
};

/// The strongest keys of one row.
struct RowQuestion {
  std::int64_t part = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = RowQuestion;
    visit_head<C>(visit);
    visit(Field{"row", &C::row, "the query"}.range(0, kFurthestPosition));
  }
};

}  // namespace weft::viewer
