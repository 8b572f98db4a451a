// SPDX-License-Identifier: Apache-2.0
// Pictures of patterns: an SVG for a notebook, and text.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "small_svg.h"
#include "weft/core/error.h"
#include "weft/inspect/picture/picture.h"
#include "weft/inspect/picture/terminal.h"
#include "weft/pattern/pattern.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using inspect::TerminalStyle;

inspect::PictureRequest request_of(const OwnedSite& site, std::int64_t head, std::int64_t cells) {
  inspect::PictureRequest request{.site = site.view(), .maximum_cells = cells};
  if (head >= 0) {
    request.head = head;
  }
  return request;
}

std::string svg(const std::string& expression, const OwnedSite& site, const std::string& directory, std::int64_t head,
                std::int64_t cells, std::size_t bytes) {
  constexpr std::int64_t kMostCells = 384;
  require(cells >= 8 && cells <= kMostCells, "svg: cells must be between 8 and ", kMostCells, ", found ", cells);
  return small_svg(pattern::Pattern::parse(expression, directory), request_of(site, head, cells), bytes);
}

TerminalStyle style_of(const std::string& name) {
  if (name == "colour") {
    return TerminalStyle::kColour;
  }
  if (name == "unicode") {
    return TerminalStyle::kUnicode;
  }
  require(name == "ascii", "text: the style must be colour, unicode or ascii");
  return TerminalStyle::kAscii;
}

std::string text(const std::string& expression, const OwnedSite& site, const std::string& directory, std::int64_t head,
                 std::int64_t width, const std::string& style) {
  const TerminalStyle drawn = style_of(style);
  const inspect::PictureRequest request = request_of(site, head, inspect::cells_in_width(width, drawn));
  return terminal_picture(make_picture(pattern::Pattern::parse(expression, directory), request), drawn);
}

}  // namespace

void bind_pictures(nb::module_& module) {
  using OthersGoOn = nb::call_guard<nb::gil_scoped_release>;
  constexpr std::size_t kBytes = 40000;
  module.def("svg", svg, OthersGoOn(), "expression"_a, "site"_a, "directory"_a = "", "head"_a = -1, "cells"_a = 128,
             "bytes"_a = kBytes);
  module.def("text", text, OthersGoOn(), "expression"_a, "site"_a, "directory"_a = "", "head"_a = -1, "width"_a = 80,
             "style"_a = "unicode");
}

}  // namespace weft::python
