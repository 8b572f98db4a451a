// SPDX-License-Identifier: Apache-2.0
// Cairo, opened when the first picture is drawn and not before: machines without a screen lack the libraries of X11
// that it brings, and everything else works there.
#pragma once

#include <cairo-svg.h>
#include <cairo.h>

namespace weft::inspect {

/// The functions of Cairo that Weft calls, with the types of its headers.
struct CairoLibrary {
  decltype(&::cairo_arc) arc = nullptr;
  decltype(&::cairo_create) create = nullptr;
  decltype(&::cairo_destroy) destroy = nullptr;
  decltype(&::cairo_fill) fill = nullptr;
  decltype(&::cairo_format_stride_for_width) format_stride_for_width = nullptr;
  decltype(&::cairo_get_source) get_source = nullptr;
  decltype(&::cairo_get_target) get_target = nullptr;
  decltype(&::cairo_image_surface_create) image_surface_create = nullptr;
  decltype(&::cairo_image_surface_create_for_data) image_surface_create_for_data = nullptr;
  decltype(&::cairo_line_to) line_to = nullptr;
  decltype(&::cairo_move_to) move_to = nullptr;
  decltype(&::cairo_new_path) new_path = nullptr;
  decltype(&::cairo_pattern_set_filter) pattern_set_filter = nullptr;
  decltype(&::cairo_rectangle) rectangle = nullptr;
  decltype(&::cairo_rel_line_to) rel_line_to = nullptr;
  decltype(&::cairo_restore) restore = nullptr;
  decltype(&::cairo_rotate) rotate = nullptr;
  decltype(&::cairo_save) save = nullptr;
  decltype(&::cairo_scale) scale = nullptr;
  decltype(&::cairo_select_font_face) select_font_face = nullptr;
  decltype(&::cairo_set_antialias) set_antialias = nullptr;
  decltype(&::cairo_set_font_size) set_font_size = nullptr;
  decltype(&::cairo_set_line_width) set_line_width = nullptr;
  decltype(&::cairo_set_source_rgb) set_source_rgb = nullptr;
  decltype(&::cairo_set_source_surface) set_source_surface = nullptr;
  decltype(&::cairo_show_text) show_text = nullptr;
  decltype(&::cairo_status) status = nullptr;
  decltype(&::cairo_status_to_string) status_to_string = nullptr;
  decltype(&::cairo_stroke) stroke = nullptr;
  decltype(&::cairo_surface_destroy) surface_destroy = nullptr;
  decltype(&::cairo_surface_finish) surface_finish = nullptr;
  decltype(&::cairo_surface_flush) surface_flush = nullptr;
  decltype(&::cairo_surface_status) surface_status = nullptr;
  decltype(&::cairo_surface_write_to_png_stream) surface_write_to_png_stream = nullptr;
  decltype(&::cairo_svg_surface_create_for_stream) svg_surface_create_for_stream = nullptr;
  decltype(&::cairo_text_extents) text_extents = nullptr;
  decltype(&::cairo_translate) translate = nullptr;
};

/// The library, opened once and never closed. Errors: kUnsupported where it is not installed, with what to install.
const CairoLibrary& cairo();

}  // namespace weft::inspect
