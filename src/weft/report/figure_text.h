// SPDX-License-Identifier: Apache-2.0
// The last figures of a run, sorted for a reader, and each as a person reads it: four places behind the point, whole
// numbers in groups.
#pragma once

#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/report/run_figures.h"

namespace weft::report {

/// "0.9123", "1,234", "5.33e-05", "1m12s" for the figures `seconds` and `time`, "undefined" for null.
std::string figure_text(const std::string& name, const formats::Json& value);

/// "5e-05", "linear", "true"; a list as its items with commas between, "none" for an empty one, "-" for null.
std::string setting_text(const formats::Json& value);

/// Text of unknown origin for a terminal: control characters and bytes that are no UTF-8 as \xNN.
std::string printable(const std::string& text);

/// One figure under its name in the logs; seconds are "time".
struct RunFigure {
  std::string name;
  formats::Json value;
  bool measure = false;  ///< compares models; the others say how much was trained or evaluated
};

/// Figures under a heading.
struct FigureGroup {
  std::string title;
  std::vector<RunFigure> figures;
};

/// "training", "evaluation" where there was one, and "best evaluation" where that was not the last one. No figure comes
/// under two names: bits a character are left out where they are bits a byte, micro-averaged F1 where it is accuracy.
std::vector<FigureGroup> figure_groups(const RunFigures& run);

/// Whether `name` is in `evaluation` what another figure there says, too.
bool repeats_a_figure(const std::string& name, const formats::Json& evaluation);

}  // namespace weft::report
