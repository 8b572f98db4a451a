// SPDX-License-Identifier: Apache-2.0
// A curve and two lines of the table for each mechanism; what was refused or left out has none.
#include "weft/bench/mechanism_plot.h"

#include <array>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/number_text.h"
#include "weft/inspect/picture/plot.h"

namespace weft::bench {
namespace {

// Okabe and Ito 2008, "Color Universal Design", with grey in place of black; then darker ones, and lighter ones.
constexpr std::array<inspect::Colour, 16> kCurveColours{{{0.45, 0.45, 0.45},
                                                         {0.90, 0.62, 0.00},
                                                         {0.34, 0.71, 0.91},
                                                         {0.00, 0.62, 0.45},
                                                         {0.80, 0.73, 0.10},
                                                         {0.00, 0.45, 0.70},
                                                         {0.84, 0.37, 0.00},
                                                         {0.80, 0.47, 0.65},
                                                         {0.00, 0.00, 0.00},
                                                         {0.53, 0.13, 0.33},
                                                         {0.50, 0.32, 0.13},
                                                         {0.20, 0.13, 0.53},
                                                         {0.00, 0.33, 0.30},
                                                         {0.62, 0.86, 0.38},
                                                         {0.72, 0.65, 0.93},
                                                         {0.96, 0.60, 0.60}}};
constexpr double kMebibyte = 1 << 20;

double milliseconds_of(const MechanismTimes& times) { return times.forward_backward_ms.value_or(times.forward_ms); }

double mebibytes_of(const MechanismTimes& times) {
  return static_cast<double>(times.forward_backward_bytes.value_or(times.forward_bytes)) / kMebibyte;
}

/// "-" for lengths that were left out.
std::vector<std::string> table_row(const MechanismReport& report, const MechanismCalls& calls, const char* unit,
                                   double (*value)(const MechanismTimes&)) {
  std::vector<std::string> row{report.attention, unit};
  for (std::size_t i = 0; i < calls.lengths.size(); ++i) {
    const bool measured = i < report.times.size();
    row.push_back(measured ? fixed(value(report.times[i]), value(report.times[i]) < 100 ? 2 : 0) : "-");
  }
  return row;
}

/// A curve of each mechanism that was measured.
std::vector<inspect::PlotCurve> curves_of(const std::vector<MechanismReport>& reports,
                                          double (*value)(const MechanismTimes&)) {
  std::vector<inspect::PlotCurve> curves;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    inspect::PlotCurve curve{reports[i].attention, kCurveColours.at(i), {}};
    for (const MechanismTimes& times : reports[i].times) {
      curve.points.emplace_back(static_cast<double>(times.length), value(times));
    }
    if (!curve.points.empty()) {
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

inspect::Plot mechanism_plot_of(const std::string& title, const std::vector<MechanismReport>& reports,
                                const MechanismCalls& calls) {
  inspect::Plot plot;
  plot.title = title;
  const char* const way = calls.backward ? "forwards and backwards" : "forwards";
  plot.x_name = concat("tokens; ms of a call ", way);
  plot.curves = curves_of(reports, milliseconds_of);
  plot.y_on_powers = true;
  plot.below.push_back({concat("tokens; most MiB of a call ", way), curves_of(reports, mebibytes_of), true});
  plot.table.push_back({"attention", "unit"});
  for (const std::int64_t length : calls.lengths) {
    plot.table.front().push_back(digits(length));
  }
  for (const MechanismReport& report : reports) {
    plot.table.push_back(table_row(report, calls, "ms", milliseconds_of));
    plot.table.push_back(table_row(report, calls, "MiB", mebibytes_of));
  }
  return plot;
}

}  // namespace

void check_mechanism_plot(const std::filesystem::path& file, std::size_t mechanisms) {
  const std::string ending = file.extension().string();
  require(ending == ".png" || ending == ".svg", option("plot"), " must be a file that ends with .png or .svg, found ",
          Quoted(file.native(), 4096));
  require(mechanisms <= kCurveColours.size(), option("plot"), " has colours for ", kCurveColours.size(),
          " mechanisms, found ", mechanisms);
}

void write_mechanism_plot(const std::filesystem::path& file, const std::string& title,
                          const std::vector<MechanismReport>& reports, const MechanismCalls& calls) {
  const inspect::Plot plot = mechanism_plot_of(title, reports, calls);
  write_file_atomically(file, file.extension() == ".png" ? inspect::png_plot(plot) : inspect::svg_plot(plot));
}

}  // namespace weft::bench
