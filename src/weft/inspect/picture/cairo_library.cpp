// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: Cairo and what it needs bind to each other, and nobody else to them.
#include "weft/inspect/picture/cairo_library.h"

#include "weft/core/system/opened_library.h"

namespace weft::inspect {
namespace {

constexpr const char* kCairoFile = "libcairo.so.2";

CairoLibrary open_cairo() {
  const OpenedLibrary library(kCairoFile, "cannot draw", "install Cairo (Debian: apt-get install libcairo2)");
  CairoLibrary found;
  library.find("cairo_arc", found.arc);
  library.find("cairo_create", found.create);
  library.find("cairo_destroy", found.destroy);
  library.find("cairo_fill", found.fill);
  library.find("cairo_format_stride_for_width", found.format_stride_for_width);
  library.find("cairo_get_source", found.get_source);
  library.find("cairo_get_target", found.get_target);
  library.find("cairo_image_surface_create", found.image_surface_create);
  library.find("cairo_image_surface_create_for_data", found.image_surface_create_for_data);
  library.find("cairo_line_to", found.line_to);
  library.find("cairo_move_to", found.move_to);
  library.find("cairo_new_path", found.new_path);
  library.find("cairo_pattern_set_filter", found.pattern_set_filter);
  library.find("cairo_rectangle", found.rectangle);
  library.find("cairo_rel_line_to", found.rel_line_to);
  library.find("cairo_restore", found.restore);
  library.find("cairo_rotate", found.rotate);
  library.find("cairo_save", found.save);
  library.find("cairo_scale", found.scale);
  library.find("cairo_select_font_face", found.select_font_face);
  library.find("cairo_set_antialias", found.set_antialias);
  library.find("cairo_set_font_size", found.set_font_size);
  library.find("cairo_set_line_width", found.set_line_width);
  library.find("cairo_set_source_rgb", found.set_source_rgb);
  library.find("cairo_set_source_surface", found.set_source_surface);
  library.find("cairo_show_text", found.show_text);
  library.find("cairo_status", found.status);
  library.find("cairo_status_to_string", found.status_to_string);
  library.find("cairo_stroke", found.stroke);
  library.find("cairo_surface_destroy", found.surface_destroy);
  library.find("cairo_surface_finish", found.surface_finish);
  library.find("cairo_surface_flush", found.surface_flush);
  library.find("cairo_surface_status", found.surface_status);
  library.find("cairo_surface_write_to_png_stream", found.surface_write_to_png_stream);
  library.find("cairo_svg_surface_create_for_stream", found.svg_surface_create_for_stream);
  library.find("cairo_text_extents", found.text_extents);
  library.find("cairo_translate", found.translate);
  return found;
}

}  // namespace

const CairoLibrary& cairo() {
  static const CairoLibrary library = open_cairo();
  return library;
}

}  // namespace weft::inspect
