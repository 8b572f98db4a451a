// SPDX-License-Identifier: Apache-2.0
// The two experiments: the small-world curve has its shape, mixtures have equal density and the properties that the
// theory gives them; and the figures made of them.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/inspect/graph/sweep.h"
#include "weft/inspect/picture/canvas.h"
#include "weft/inspect/picture/plot.h"

namespace weft::inspect {
namespace {

SweepRequest small() {
  SweepRequest request;
  request.length = 400;
  request.graphs = 2;
  request.rewired = {0.001, 0.01, 0.1, 1};
  return request;
}

TEST(Sweep, PathsFallLongBeforeClusteringDoes) {
  const SmallWorld world = sweep_small_world(small());
  EXPECT_NEAR(world.ring_path, 400.0 / 24, 0.6) << "n / 2k";
  EXPECT_NEAR(world.ring_clustering, 3.0 * 10 / (4 * 11), 1e-9) << "3 (k - 2) / 4 (k - 1)";
  ASSERT_EQ(world.points.size(), 4U);
  for (std::size_t i = 1; i < world.points.size(); ++i) {
    EXPECT_LT(world.points[i].path, world.points[i - 1].path);
    EXPECT_LT(world.points[i].clustering, world.points[i - 1].clustering);
  }
  EXPECT_LT(world.points[1].path_share, 0.5);
  EXPECT_GT(world.points[1].clustering_share, 0.9);
}

TEST(Sweep, MixturesHaveEqualDensity) {
  SweepRequest request = small();
  request.width = 24;
  const std::vector<Mixture> mixtures = mixtures_at_equal_density(request);
  ASSERT_EQ(mixtures.size(), 5U);
  for (const Mixture& mixture : mixtures) {
    EXPECT_NEAR(mixture.statistics.layout.density, 25.0 / 400, 0.003) << mixture.name;
    EXPECT_EQ(mixture.statistics.contains_star, mixture.name.find('G') != std::string::npos) << mixture.name;
  }
  EXPECT_GT(mixtures[1].clustering, 5 * mixtures[0].clustering) << "windows cluster, random graphs do not";
  EXPECT_GT(mixtures[0].gap, 10 * mixtures[1].gap) << "random graphs mix fast";
  EXPECT_LT(mixtures[3].path, 2);
}

TEST(Sweep, RefusesWhatHasNoRing) {
  SweepRequest request = small();
  request.width = 400;
  test::expect_error(ErrorKind::kArgument, {"width in [2, 399]", "found 400"}, [&] { sweep_small_world(request); });
  request = small();
  request.rewired = {0.0};
  test::expect_error(ErrorKind::kArgument, {"in (0, 1]"}, [&] { sweep_small_world(request); });
  request = small();
  request.width = 8;
  test::expect_error(ErrorKind::kArgument, {"[12, 399]"}, [&] { mixtures_at_equal_density(request); });
  request = small();
  request.graphs = 0;
  test::expect_error(ErrorKind::kArgument, {"at least 1 graph"}, [&] { sweep_small_world(request); });
}

Plot curve() {
  return {
      "a title", "x", {{"falls", {0, 0.4, 0.7}, {{0.01, 1}, {0.1, 0.5}, {1, 0}}}}, {{"a", "b", "c"}, {"1", "2", "3"}}};
}

TEST(Plot, DrawsCurvesAndTable) {
  const std::string svg = svg_plot(curve());
  EXPECT_EQ(svg.substr(0, 5), "<?xml");
  EXPECT_NE(svg.find("rgb(0%,40"), std::string::npos) << "the colour of the curve";
  EXPECT_EQ(png_plot(curve()).substr(1, 3), "PNG");
  Plot bare = curve();
  bare.table.clear();
  EXPECT_LT(svg_plot(bare).size(), svg.size());
}

TEST(Plot, DrawsYOnPowersOfTen) {
  Plot plot = curve();
  plot.y_on_powers = true;
  test::expect_error(ErrorKind::kArgument, {"y above 0"}, [&] { svg_plot(plot); });
  plot.curves[0].points = {{512, 0.3}, {131072, 4000}};
  const std::string one = svg_plot(plot);
  EXPECT_EQ(one.substr(0, 5), "<?xml");
  // Names that need more lines move the curves down.
  const auto height = [](const std::string& svg) {
    const std::size_t at = svg.find("height=\"") + 8;
    return std::stod(svg.substr(at));
  };
  for (int i = 0; i < 12; ++i) {
    plot.curves.push_back({"a mechanism with a long name", {0, 0.4, 0.7}, {{512, 1.0}}});
  }
  EXPECT_GT(height(svg_plot(plot)), height(one));
}

TEST(Plot, DrawsFramesBelowTheFirst) {
  const std::string one = svg_plot(curve());
  Plot plot = curve();
  plot.below.push_back({"bytes", {{"falls", {0, 0.2, 0.9}, {{512, 3}, {131072, 4000}}}}, true});
  const std::string two = svg_plot(plot);
  EXPECT_NE(two.find("rgb(0%,20"), std::string::npos) << "the colour of the curve below";
  EXPECT_EQ(one.find("rgb(0%,20"), std::string::npos);
  plot.below[0].curves[0].points[0].second = 0;
  test::expect_error(ErrorKind::kArgument, {"y above 0"}, [&] { svg_plot(plot); });
}

TEST(Plot, RefusesPointsThatHaveNoPlace) {
  Plot plot = curve();
  plot.curves[0].points.emplace_back(0, 0.5);
  test::expect_error(ErrorKind::kArgument, {"x above 0"}, [&] { svg_plot(plot); });
  plot.curves[0].points.back() = {1, 1.5};
  test::expect_error(ErrorKind::kArgument, {"y in [0, 1]"}, [&] { svg_plot(plot); });
  plot.curves.clear();
  test::expect_error(ErrorKind::kArgument, {"at least one point"}, [&] { svg_plot(plot); });
}

TEST(Sheet, PutsPicturesSideBySide) {
  std::vector<SheetEntry> entries;
  for (const char* expression : {"full", "window(4)", "star", "causal", "strided(4)", "axial(8, 8)"}) {
    PictureRequest request;
    request.site.query_length = 32;
    request.site.key_length = 32;
    entries.push_back(
        {expression, make_picture(pattern::Pattern::parse(expression), request), {"one line", "another"}});
  }
  const std::string six = svg_sheet(entries);
  EXPECT_NE(six.find("</svg>"), std::string::npos);
  entries.resize(1, entries.front());
  EXPECT_LT(svg_sheet(entries).size(), six.size());
  EXPECT_EQ(png_sheet(entries).substr(1, 3), "PNG");
  test::expect_error(ErrorKind::kArgument, {"at least one pattern"}, [] { svg_sheet({}); });
}

}  // namespace
}  // namespace weft::inspect
