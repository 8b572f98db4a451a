// SPDX-License-Identifier: Apache-2.0
// Figures of shades: what is drawn is read back from the file.
#include "weft/inspect/picture/heat.h"

#include <gtest/gtest.h>

#include <cairo.h>

#include <array>
#include <cstring>
#include <set>
#include <string>

#include "support/expect_error.h"

namespace weft::inspect {
namespace {

using test::expect_error;

HeatFigure small_figure() {
  return {.title = "Attention of a model",
          .notes = {"a note"},
          .lines = {{"layers.0.self", {{"head 0", 2, 2, {1.0F, -1.0F, 0.5F, 0.0F}}, {"head 1", 1, 3, {0, 0, 0}}}},
                    {"layers.1.self", {{"head 0", 3, 1, {0.1F, 0.2F, 0.3F}}}}}};
}

struct Pixels {
  std::string left;  // of the file

  static cairo_status_t read(void* from, unsigned char* into, unsigned int length) {
    auto& self = *static_cast<Pixels*>(from);
    if (self.left.size() < length) {
      return CAIRO_STATUS_READ_ERROR;
    }
    std::memcpy(into, self.left.data(), length);
    self.left.erase(0, length);
    return CAIRO_STATUS_SUCCESS;
  }
};

TEST(Heat, IsDrawnIntoBothFormats) {
  const std::string svg = svg_heat(small_figure());
  EXPECT_TRUE(svg.starts_with("<?xml"));
  EXPECT_NE(svg.find("data:image/png;base64"), std::string::npos);
  Pixels pixels{png_heat(small_figure())};
  cairo_surface_t* const image = cairo_image_surface_create_from_png_stream(&Pixels::read, &pixels);
  ASSERT_EQ(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
  const int width = cairo_image_surface_get_width(image);
  const int height = cairo_image_surface_get_height(image);
  std::set<std::uint32_t> colours;
  for (int row = 0; row < height; ++row) {
    const auto* const line = reinterpret_cast<const std::uint32_t*>(cairo_image_surface_get_data(image) +
                                                                    row * cairo_image_surface_get_stride(image));
    for (int column = 0; column < width; ++column) {
      colours.insert(line[column] & 0xFFFFFFU);
    }
  }
  cairo_surface_destroy(image);
  EXPECT_TRUE(colours.contains(0x143370)) << "the largest number of a panel";
  EXPECT_TRUE(colours.contains(0xF7F7FC)) << "zero";
  EXPECT_TRUE(colours.contains(0xF5E6E3)) << "no edge";
}

TEST(Heat, RefusesWhatItCannotDraw) {
  expect_error(ErrorKind::kArgument, {"a panel"}, [] { svg_heat({}); });
  HeatFigure figure = small_figure();
  figure.lines[0].panels[0].values.pop_back();
  expect_error(ErrorKind::kArgument, {"2 x 2", "found 3"}, [&] { png_heat(figure); });
  figure = small_figure();
  figure.lines.resize(400, figure.lines[1]);
  expect_error(ErrorKind::kArgument, {"400 lines", "fewer"}, [&] { png_heat(figure); });
}

}  // namespace
}  // namespace weft::inspect
