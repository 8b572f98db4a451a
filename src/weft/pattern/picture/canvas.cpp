// SPDX-License-Identifier: Apache-2.0
// Surfaces and their lifetime. Cairo reports failure by a status on the object, checked once at the end.
#include "weft/pattern/picture/canvas.h"

#include <cmath>
#include <memory>

#include <cairo-svg.h>
#include <cairo.h>

#include "weft/core/error.h"
#include "weft/pattern/picture/figure.h"

namespace weft::pattern {
namespace {

constexpr double kPixelsPerPoint = 2;

struct Release {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, Release>;
using Context = std::unique_ptr<cairo_t, Release>;

void check(cairo_status_t status, const char* what) {
  if (status != CAIRO_STATUS_SUCCESS) {
    fail(ErrorKind::kUnsupported, "drawing the ", what, " failed: ", cairo_status_to_string(status));
  }
}

cairo_status_t append(void* target, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

/// Text is measured before the size of the real surface is known.
FigureLayout measured(const Picture& picture) {
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1));
  const Context context(cairo_create(surface.get()));
  cairo_scale(context.get(), kPixelsPerPoint, kPixelsPerPoint);
  return figure_layout(context.get(), picture);
}

}  // namespace

std::string svg_picture(const Picture& picture) {
  const FigureLayout layout = measured(picture);
  std::string document;
  const Surface surface(cairo_svg_surface_create_for_stream(append, &document, layout.width, layout.height));
  {
    const Context context(cairo_create(surface.get()));
    draw_figure(context.get(), picture, layout);
    check(cairo_status(context.get()), "SVG");
  }
  cairo_surface_finish(surface.get());
  check(cairo_surface_status(surface.get()), "SVG");
  return document;
}

std::string png_picture(const Picture& picture) {
  const FigureLayout layout = measured(picture);
  const auto pixels = [](double points) { return static_cast<int>(std::ceil(points * kPixelsPerPoint)); };
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels(layout.width), pixels(layout.height)));
  const Context context(cairo_create(surface.get()));
  cairo_scale(context.get(), kPixelsPerPoint, kPixelsPerPoint);
  draw_figure(context.get(), picture, layout);
  check(cairo_status(context.get()), "PNG");
  std::string file;
  check(cairo_surface_write_to_png_stream(surface.get(), append, &file), "PNG");
  return file;
}

}  // namespace weft::pattern
