// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: Cairo and what it needs bind to each other, and nobody else to them.
#include "weft/inspect/picture/cairo_library.h"

#include <dlfcn.h>

#include "weft/core/error.h"
#include "weft/core/one_line.h"

namespace weft::inspect {
namespace {

constexpr const char* kCairoFile = "libcairo.so.2";

[[noreturn]] void fail_without_cairo() {
  const char* const reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it for each thread
  throw Error(ErrorKind::kUnsupported,
              concat("cannot draw: ", kCairoFile, " does not load: ", one_line(reason != nullptr ? reason : "")),
              "install Cairo (Debian: apt-get install libcairo2)");
}

template <typename Function>
void find_cairo_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    fail_without_cairo();
  }
}

CairoLibrary open_cairo() {
  void* const library = dlopen(kCairoFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail_without_cairo();
  }
  CairoLibrary found;
  find_cairo_function(library, "cairo_arc", found.arc);
  find_cairo_function(library, "cairo_create", found.create);
  find_cairo_function(library, "cairo_destroy", found.destroy);
  find_cairo_function(library, "cairo_fill", found.fill);
  find_cairo_function(library, "cairo_format_stride_for_width", found.format_stride_for_width);
  find_cairo_function(library, "cairo_get_source", found.get_source);
  find_cairo_function(library, "cairo_get_target", found.get_target);
  find_cairo_function(library, "cairo_image_surface_create", found.image_surface_create);
  find_cairo_function(library, "cairo_image_surface_create_for_data", found.image_surface_create_for_data);
  find_cairo_function(library, "cairo_line_to", found.line_to);
  find_cairo_function(library, "cairo_move_to", found.move_to);
  find_cairo_function(library, "cairo_new_path", found.new_path);
  find_cairo_function(library, "cairo_pattern_set_filter", found.pattern_set_filter);
  find_cairo_function(library, "cairo_rectangle", found.rectangle);
  find_cairo_function(library, "cairo_rel_line_to", found.rel_line_to);
  find_cairo_function(library, "cairo_restore", found.restore);
  find_cairo_function(library, "cairo_rotate", found.rotate);
  find_cairo_function(library, "cairo_save", found.save);
  find_cairo_function(library, "cairo_scale", found.scale);
  find_cairo_function(library, "cairo_select_font_face", found.select_font_face);
  find_cairo_function(library, "cairo_set_antialias", found.set_antialias);
  find_cairo_function(library, "cairo_set_font_size", found.set_font_size);
  find_cairo_function(library, "cairo_set_line_width", found.set_line_width);
  find_cairo_function(library, "cairo_set_source_rgb", found.set_source_rgb);
  find_cairo_function(library, "cairo_set_source_surface", found.set_source_surface);
  find_cairo_function(library, "cairo_show_text", found.show_text);
  find_cairo_function(library, "cairo_status", found.status);
  find_cairo_function(library, "cairo_status_to_string", found.status_to_string);
  find_cairo_function(library, "cairo_stroke", found.stroke);
  find_cairo_function(library, "cairo_surface_destroy", found.surface_destroy);
  find_cairo_function(library, "cairo_surface_finish", found.surface_finish);
  find_cairo_function(library, "cairo_surface_flush", found.surface_flush);
  find_cairo_function(library, "cairo_surface_status", found.surface_status);
  find_cairo_function(library, "cairo_surface_write_to_png_stream", found.surface_write_to_png_stream);
  find_cairo_function(library, "cairo_svg_surface_create_for_stream", found.svg_surface_create_for_stream);
  find_cairo_function(library, "cairo_text_extents", found.text_extents);
  find_cairo_function(library, "cairo_translate", found.translate);
  return found;
}

}  // namespace

const CairoLibrary& cairo() {
  static const CairoLibrary library = open_cairo();
  return library;
}

}  // namespace weft::inspect
