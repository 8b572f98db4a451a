// SPDX-License-Identifier: Apache-2.0
// Tables that fit a terminal, figures as people read them, and text from elsewhere in a page.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "weft/report/comparison.h"
#include "weft/report/figure_text.h"
#include "weft/report/html.h"
#include "weft/text/utf8.h"

namespace weft::report {
namespace {

TEST(SideBySide, AColumnEach) {
  EXPECT_EQ(side_by_side({"one", "two"}, {{"figures", {}}, {"steps", {"5", "1,000"}}, {"loss", {"2.5 *", "3.1"}}}, 80),
            "       one    two\n"
            "figures\n"
            "steps  5      1,000\n"
            "loss   2.5 *  3.1\n");
}

TEST(SideBySide, WhatDoesNotFitGoesIntoAnotherTable) {
  EXPECT_EQ(side_by_side({"first-run", "second-run"}, {{"seed", {"1", "2"}}}, 20),
            "      first-run\n"
            "seed  1\n"
            "\n"
            "      second-run\n"
            "seed  2\n");
}

TEST(SideBySide, ALongCellGoesOnInTheNextLine) {
  EXPECT_EQ(side_by_side({"a"}, {{"attention", {"causal & window(left=8)"}}, {"seed", {"1"}}}, 22),
            "           a\n"
            "attention  causal &\n"
            "           window(left\n"
            "           =8)\n"
            "seed       1\n");
}

TEST(SideBySide, NoLineIsWiderThanTheTerminalAndNothingIsLost) {
  for (const std::int64_t width : {20, 33, 80}) {
    std::string all;
    std::istringstream lines(
        side_by_side({"窓", "b"}, {{"text", {std::string(100, 'x'), "ü ü ü ü ü ü ü ü ü ü ü ü"}}}, width));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(static_cast<std::int64_t>(text::code_point_count(line)), width);
      all += line;
    }
    const auto tables = std::count(all.begin(), all.end(), 't') / 2;  // each says "text"
    EXPECT_EQ(std::count(all.begin(), all.end(), 'x'), 100 + tables);
  }
}

RunFigures run_of(const std::string& name, const formats::Json& training, double loss, double figure) {
  RunFigures run;
  run.path = "/runs/" + name;
  run.training = training;
  run.training["dtype"] = "bfloat16";
  run.model = {{"dtype", "float32"}, {"vocab_size", 256}};
  run.last = {{"step", 5}, {"loss", loss}, {"seconds", 1.0}, {"tokens", 10}};
  run.evaluation = {{"step", 5}, {"bits_per_byte", figure}, {"bytes", 10}};
  return run;
}

std::int64_t stars_in(const std::string& table) { return std::count(table.begin(), table.end(), '*'); }

TEST(Comparison, TheTypeOfARunIsThatOfItsProducts) {
  const std::vector<RunFigures> runs = {run_of("a", {{"train_text", {"/x"}}}, 2.0, 1.0)};
  EXPECT_EQ(comparison_json(runs, true)[0]["settings"]["dtype"], "bfloat16");
  EXPECT_EQ(comparison_json(runs, true)[0]["dtype"], "bfloat16");
  EXPECT_EQ(comparison_json(runs, true)[0]["task"], "lm");
  EXPECT_NE(comparison_text(runs, true, 80).find("dtype                  bfloat16"), std::string::npos)
      << comparison_text(runs, true, 80);
  EXPECT_EQ(settings_of(runs[0])["dtype"], "bfloat16");
  EXPECT_FALSE(model_settings(runs[0]).contains("dtype"));
}

TEST(Comparison, StarsAreForRunsOfOneTaskOnTheSameData) {
  const formats::Json text = {{"train_text", {"/x"}}, {"eval_text", {"/v"}}};
  const formats::Json other = {{"train_text", {"/x"}}, {"eval_text", {"/w"}}};
  const formats::Json task = {{"task", "classify"}, {"train_data", {"/d"}}, {"eval_data", {"/e"}}};
  const std::string same = comparison_text({run_of("a", text, 2, 1), run_of("b", text, 3, 4)}, false, 80);
  EXPECT_EQ(stars_in(same), 3) << same;  // two figures and the line
  EXPECT_NE(same.find("* the best of these runs\n"), std::string::npos);
  const std::string tasks = comparison_text({run_of("a", text, 2, 1), run_of("b", task, 3, 4)}, false, 80);
  EXPECT_EQ(stars_in(tasks), 0) << tasks;
  EXPECT_NE(tasks.find("no best is marked: these runs have different tasks: lm, classify\n"), std::string::npos);
  const std::string held_out = comparison_text({run_of("a", text, 2, 1), run_of("b", other, 3, 4)}, false, 80);
  EXPECT_EQ(stars_in(held_out), 2) << held_out;  // of the last step's loss
  const std::string mixed =
      comparison_text({run_of("a", text, 2, 1), run_of("b", task, 0.1, 9), run_of("c", text, 3, 4)}, false, 120);
  EXPECT_EQ(stars_in(mixed), 3) << mixed;
  EXPECT_NE(mixed.find("2.0000 *"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("* the best of the runs with one task, data and vocabulary; these runs have different tasks"),
            std::string::npos);
  RunFigures wide = run_of("w", text, 1, 9);
  wide.model["vocab_size"] = 8000;
  const std::string vocabularies = comparison_text({run_of("a", text, 2, 1), wide}, false, 80);
  EXPECT_EQ(stars_in(vocabularies), 2) << vocabularies;  // bits a byte are comparable, nats a token are not
}

TEST(FigureText, AsPeopleReadThem) {
  EXPECT_EQ(figure_text("accuracy", 0.30000000000000004), "0.3000");
  EXPECT_EQ(figure_text("steps", 1234567), "1,234,567");
  EXPECT_EQ(figure_text("learning_rate", 5.3333333333e-5), "5.333e-05");
  EXPECT_EQ(figure_text("seconds", 72.3), "1m12s");
  EXPECT_EQ(figure_text("pearson", nullptr), "undefined");
  EXPECT_EQ(setting_text(0.1 + 0.2), "0.3");
  EXPECT_EQ(setting_text(formats::Json::array({"a", "b"})), "a, b");
  EXPECT_EQ(setting_text(formats::Json::array()), "none");
  EXPECT_EQ(printable("it's a \\ and \x1b[31m"), "it's a \\ and \\x1b[31m");
}

TEST(Html, TextCanAddNothingToThePage) {
  EXPECT_EQ(html_text("<b a=\"1\" c='2'>&</b>"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;&lt;/b&gt;");
  EXPECT_EQ(html_text("a\x1b\xffz\xc3\xa9"), "a\xEF\xBF\xBD\xEF\xBF\xBDz\xc3\xa9");
}

TEST(Curves, OneFigureIsNoCurve) {
  EXPECT_EQ(svg_curves({"loss", "step"}, {{"", {{4, 0.5}}}}), "");
  EXPECT_EQ(svg_curves({"loss", "step"}, {{"", {{4, 0.5}, {8, std::nan("")}}}}), "");
  const std::string drawn =
      svg_curves({"loss", "step"}, {{"training", {{4, 0.5}, {8, 0.4}}}, {"held out", {{8, 0.6}}}});
  EXPECT_NE(drawn.find("<circle"), std::string::npos);
  EXPECT_NE(drawn.find("held out"), std::string::npos);
}

}  // namespace
}  // namespace weft::report
