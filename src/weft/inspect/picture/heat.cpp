// SPDX-License-Identifier: Apache-2.0
// A panel is an image of one pixel a cell, which Cairo enlarges without smoothing: in an SVG it is embedded as it is.
#include "weft/inspect/picture/heat.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "weft/core/error.h"
#include "weft/inspect/picture/drawing.h"
#include "weft/inspect/picture/style.h"

namespace weft::inspect {
namespace {

constexpr double kFaintest = 1.0 / 4096;  // of the largest number: beyond it all is as pale
constexpr Colour kWeak{0.97, 0.97, 0.99};
constexpr Colour kStrong{0.08, 0.20, 0.44};
constexpr Colour kForbidden{0.96, 0.90, 0.89};
constexpr double kPanelGap = 8;    // between panels
constexpr double kPanelName = 14;  // above each
constexpr double kRamp = 160;      // width of the legend's scale
constexpr std::int64_t kMostHeatCells = 4096;
constexpr double kMostPoints = 16000;  // an image surface has at most 32,767 pixels on a side

struct HeatLayout {
  double side = 0;  // of the longer side of a panel
  double width = 0;
  double height = 0;
  double top = 0;
  double line_height = 0;
};

Colour shade_of(float value, float largest) {
  if (value < 0) {
    return kForbidden;
  }
  const double share = largest > 0 ? static_cast<double>(value) / largest : 0;
  const double strength = share <= kFaintest ? 0 : 1 - std::log(share) / std::log(kFaintest);
  const auto between = [&](double weak, double strong) { return weak + (strong - weak) * strength; };
  return {between(kWeak.red, kStrong.red), between(kWeak.green, kStrong.green), between(kWeak.blue, kStrong.blue)};
}

std::uint32_t pixel_of(const Colour& colour) {
  const auto byte = [](double part) { return static_cast<std::uint32_t>(std::lround(part * 255)); };
  return byte(colour.red) << 16 | byte(colour.green) << 8 | byte(colour.blue);
}

void draw_heat_panel(cairo_t* context, const HeatPanel& panel, double x, double y, double side) {
  const float largest = *std::max_element(panel.values.begin(), panel.values.end());
  const auto columns = static_cast<int>(panel.columns);
  const auto rows = static_cast<int>(panel.rows);
  const int stride = cairo().format_stride_for_width(CAIRO_FORMAT_RGB24, columns);
  std::vector<std::uint32_t> pixels(static_cast<std::size_t>(stride) / 4 * static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < panel.rows; ++row) {
    for (std::int64_t column = 0; column < panel.columns; ++column) {
      const float value = panel.values[static_cast<std::size_t>(row * panel.columns + column)];
      pixels[static_cast<std::size_t>(row * (stride / 4) + column)] = pixel_of(shade_of(value, largest));
    }
  }
  const std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> image(
      cairo().image_surface_create_for_data(reinterpret_cast<unsigned char*>(pixels.data()), CAIRO_FORMAT_RGB24,
                                            columns, rows, stride),
      cairo().surface_destroy);
  const double scale = side / static_cast<double>(std::max(panel.rows, panel.columns));
  cairo().save(context);
  cairo().translate(context, x, y);
  cairo().scale(context, scale, scale);
  cairo().set_source_surface(context, image.get(), 0, 0);
  cairo().pattern_set_filter(cairo().get_source(context), CAIRO_FILTER_NEAREST);
  cairo().rectangle(context, 0, 0, columns, rows);
  cairo().fill(context);
  cairo().restore(context);
  // The pixels end here: Cairo may still read them for an SVG.
  cairo().surface_flush(cairo().get_target(context));
  cairo().surface_finish(image.get());
}

void draw_scale(cairo_t* context, double y, double right) {
  constexpr int kSteps = 64;
  double x = kMargin;
  draw_text(context, kBody, "1/4,096 of a panel's largest", x, y + 10);
  x += text_width(context, kBody, "1/4,096 of a panel's largest") + 8;
  for (int step = 0; step < kSteps; ++step) {
    const double share = std::pow(kFaintest, 1 - static_cast<double>(step) / (kSteps - 1));
    fill(context, shade_of(static_cast<float>(share), 1.0F), x + step * kRamp / kSteps, y, kRamp / kSteps + 0.5, 12);
  }
  x += kRamp + 8;
  draw_text(context, kBody, "largest", x, y + 10);
  x += text_width(context, kBody, "largest") + 24;
  draw_legend(context, {{kForbidden, "no edge"}}, x, y, right);
}

std::int64_t panels_across(const HeatFigure& figure) {
  std::int64_t most = 0;
  for (const HeatLine& line : figure.lines) {
    most = std::max(most, std::ssize(line.panels));
  }
  return most;
}

HeatLayout heat_layout(const HeatFigure& figure) {
  const std::int64_t across = panels_across(figure);
  HeatLayout layout;
  layout.side = across <= 2 ? 256 : across <= 6 ? 160 : 112;
  layout.top = kMargin + 8 + (1 + static_cast<double>(figure.notes.size())) * kLine + 8;
  layout.line_height = kLine + kPanelName + layout.side + kPanelGap;
  layout.width = std::max(kMargin + static_cast<double>(across) * (layout.side + kPanelGap) + kMargin, 620.0);
  layout.height = layout.top + static_cast<double>(figure.lines.size()) * layout.line_height + 2 * kLine + kMargin;
  require(layout.width <= kMostPoints && layout.height <= kMostPoints, "a figure of ", figure.lines.size(),
          " lines with up to ", across, " panels is too large to draw; choose fewer layers or heads");
  return layout;
}

void check_heat(const HeatFigure& figure) {
  require(panels_across(figure) > 0, "a figure of attention needs a panel");
  for (const HeatLine& line : figure.lines) {
    for (const HeatPanel& panel : line.panels) {
      require(panel.rows > 0 && panel.columns > 0 && panel.rows <= kMostHeatCells && panel.columns <= kMostHeatCells &&
                  std::ssize(panel.values) == panel.rows * panel.columns,
              "a panel of ", panel.rows, " x ", panel.columns, " cells (1 to ", kMostHeatCells,
              " on a side) needs a number for each, found ", panel.values.size());
    }
  }
}

Drawing heat_drawing(const HeatFigure& figure) {
  check_heat(figure);
  const HeatLayout layout = heat_layout(figure);
  return {layout.width, layout.height, [&figure, layout](cairo_t* context) {
            fill(context, {1, 1, 1}, 0, 0, layout.width, layout.height);
            double y = kMargin + 8;
            draw_text(context, kTitle, figure.title, kMargin, y);
            for (const std::string& note : figure.notes) {
              y += kLine;
              draw_text(context, kBody, note, kMargin, y);
            }
            y = layout.top;
            for (const HeatLine& line : figure.lines) {
              draw_text(context, kPanelLabel, line.name, kMargin, y + 10);
              double x = kMargin;
              for (const HeatPanel& panel : line.panels) {
                draw_text(context, kTick, panel.name, x, y + kLine + kPanelName - 4);
                draw_heat_panel(context, panel, x, y + kLine + kPanelName, layout.side);
                x += layout.side + kPanelGap;
              }
              y += layout.line_height;
            }
            draw_scale(context, y + kLine / 2, layout.width - kMargin);
          }};
}

}  // namespace

std::string svg_heat(const HeatFigure& figure) { return svg_of(heat_drawing(figure)); }

std::string png_heat(const HeatFigure& figure) { return png_of(heat_drawing(figure)); }

}  // namespace weft::inspect
