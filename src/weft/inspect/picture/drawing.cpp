// SPDX-License-Identifier: Apache-2.0
// The primitives of figures, and Cairo's surfaces with their lifetime. Cairo reports failure by a status on the object,
// checked once at the end.
#include "weft/inspect/picture/drawing.h"

#include <cmath>
#include <memory>

#include "weft/core/error.h"

namespace weft::inspect {
namespace {

constexpr double kPixelsPerPoint = 2;  // sharp on a dense screen and in print

/// Ends the life of what Cairo counts references to.
struct Release {
  void operator()(cairo_surface_t* surface) const { cairo().surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo().destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, Release>;
using Canvas = std::unique_ptr<cairo_t, Release>;

void check_drawing(cairo_status_t status, const char* what) {
  if (status != CAIRO_STATUS_SUCCESS) {
    fail(ErrorKind::kUnsupported, "drawing the ", what, " failed: ", cairo().status_to_string(status));
  }
}

/// Cairo's writer: `target` is the string that grows.
cairo_status_t append(void* target, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

void set_font(cairo_t* context, const Text& text) {
  cairo().select_font_face(context, text.monospace ? "monospace" : "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           text.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo().set_font_size(context, text.size);
}

}  // namespace

void set_colour(cairo_t* context, const Colour& colour) {
  cairo().set_source_rgb(context, colour.red, colour.green, colour.blue);
}

double text_width(cairo_t* context, const Text& text, const std::string& words) {
  set_font(context, text);
  cairo_text_extents_t extents{};
  cairo().text_extents(context, words.c_str(), &extents);
  return extents.x_advance;
}

void draw_text(cairo_t* context, const Text& text, const std::string& words, double x, double y, double align) {
  const double shift = align == 0 ? 0 : align * text_width(context, text, words);
  set_font(context, text);
  set_colour(context, text.colour);
  cairo().move_to(context, x - shift, y);
  cairo().show_text(context, words.c_str());
}

std::vector<std::string> wrapped(cairo_t* context, const Text& text, const std::string& words, double width) {
  std::vector<std::string> lines{""};
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t space = words.find(' ', begin);
    const std::size_t end = space == std::string::npos ? words.size() : space + 1;
    const std::string word = words.substr(begin, end - begin);
    if (!lines.back().empty() && text_width(context, text, lines.back() + word) > width) {
      lines.emplace_back();
    }
    lines.back() += word;
    begin = end;
  }
  return lines;
}

void fill(cairo_t* context, const Colour& colour, double x, double y, double width, double height) {
  set_colour(context, colour);
  cairo().rectangle(context, x, y, width, height);
  cairo().fill(context);
}

namespace {

/// Calls `place` with each entry and where it begins: x, and the number of its line.
void lay_out_legend(cairo_t* context, const std::vector<LegendEntry>& entries, double left, double right,
                    const std::function<void(const LegendEntry&, double, int)>& place) {
  double x = left;
  int line = 0;
  for (const LegendEntry& entry : entries) {
    const double needed = 18 + text_width(context, kBody, entry.name);
    if (x > left && x + needed > right) {
      x = left;
      ++line;
    }
    place(entry, x, line);
    x += needed + 16;
  }
}

}  // namespace

int legend_lines(cairo_t* context, const std::vector<LegendEntry>& entries, double x, double right) {
  int lines = 0;
  lay_out_legend(context, entries, x, right, [&](const LegendEntry&, double, int line) { lines = line + 1; });
  return lines;
}

void draw_legend(cairo_t* context, const std::vector<LegendEntry>& entries, double x, double y, double right) {
  lay_out_legend(context, entries, x, right, [&](const LegendEntry& entry, double at, int line) {
    fill(context, entry.colour, at, y + line * kLegendLine, 12, 12);
    draw_text(context, kBody, entry.name, at + 18, y + line * kLegendLine + 10);
  });
}

void with_measuring_context(const std::function<void(cairo_t* context)>& measure) {
  const Surface surface(cairo().image_surface_create(CAIRO_FORMAT_RGB24, 1, 1));
  const Canvas context(cairo().create(surface.get()));
  cairo().scale(context.get(), kPixelsPerPoint, kPixelsPerPoint);
  measure(context.get());
}

std::string svg_of(const Drawing& drawing) {
  std::string document;
  const Surface surface(cairo().svg_surface_create_for_stream(append, &document, drawing.width, drawing.height));
  {
    const Canvas context(cairo().create(surface.get()));
    drawing.draw(context.get());
    check_drawing(cairo().status(context.get()), "SVG");
  }
  cairo().surface_finish(surface.get());
  check_drawing(cairo().surface_status(surface.get()), "SVG");
  return document;
}

std::string png_of(const Drawing& drawing) {
  const auto pixels = [](double points) { return static_cast<int>(std::ceil(points * kPixelsPerPoint)); };
  const Surface surface(
      cairo().image_surface_create(CAIRO_FORMAT_RGB24, pixels(drawing.width), pixels(drawing.height)));
  const Canvas context(cairo().create(surface.get()));
  cairo().scale(context.get(), kPixelsPerPoint, kPixelsPerPoint);
  drawing.draw(context.get());
  check_drawing(cairo().status(context.get()), "PNG");
  std::string file;
  check_drawing(cairo().surface_write_to_png_stream(surface.get(), append, &file), "PNG");
  return file;
}

}  // namespace weft::inspect
