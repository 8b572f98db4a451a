// SPDX-License-Identifier: Apache-2.0
// The survey against compiled layouts, its estimates against sums by hand, and pictures and figures of lengths that no
// layout can hold.
#include "weft/inspect/survey/survey.h"

#include <string_view>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/square_site.h"
#include "weft/inspect/picture/picture.h"

namespace weft::inspect {
namespace {

constexpr std::int64_t kMillion = std::int64_t{1} << 20;
constexpr std::int64_t kLongest = std::int64_t{1} << 31;

TEST(Survey, CountsWhatTheCompilerWritesDown) {
  for (const char* expression :
       {"full", "causal", "window(70)", "window(left=3, right=90, dilation=2)", "global(first=3, last=2, at=[500])",
        "strided(16)", "fixed(32, 4)", "block(64, global(1) | window(3))", "random(5)", "erdos_renyi(0.02)",
        "watts_strogatz(8, 0.3)", "bigbird(block=16)", "heads(window(8), causal)", "!window(9)",
        "causal & (random(9) | stride(50))", "block(2, block(3, window(3)))"}) {
    const pattern::Pattern pattern = pattern::Pattern::parse(expression);
    for (const std::int64_t length : {0, 1, 64, 1000}) {
      const pattern::Site site = test::square(length, 2);
      if (std::string_view(expression).starts_with("bigbird") && length < 1000) {
        continue;
      }
      const pattern::LayoutStatistics counted = statistics(compile(pattern, site, {64, 64}));
      const LayoutSurvey found = survey_layout(pattern, site);
      EXPECT_EQ(found.sampled, 0) << expression << " at " << length;
      EXPECT_EQ(found.layout.edges, counted.edges) << expression << " at " << length;
      EXPECT_EQ(found.layout.full_blocks, counted.full_blocks) << expression << " at " << length;
      EXPECT_EQ(found.layout.partial_blocks, counted.partial_blocks + counted.weighted_blocks)
          << expression << " at " << length;
      EXPECT_EQ(found.layout.slots, counted.slots) << expression << " at " << length;
    }
  }
}

TEST(Survey, CountsOneHeadOrAll) {
  const pattern::Pattern pattern = pattern::Pattern::parse("heads(full, window(1))");
  EXPECT_EQ(survey_layout(pattern, test::square(100, 2)).layout.edges, 10100);
  EXPECT_EQ(survey_layout(pattern, test::square(100, 2), 1).layout.edges, 100);
  EXPECT_EQ(survey_layout(pattern, test::square(100, 2)).groups, 2);
}

TEST(Survey, EstimatesStateTheirError) {
  struct Case {
    const char* expression;
    std::int64_t length;
    double edges;
  };
  constexpr double kFar = static_cast<double>(kLongest);
  const Case cases[] = {{"causal", kLongest, kFar * (kFar + 1) / 2},
                        {"window(512) | global(2)", kLongest, kFar * 517},
                        {"block(64, global(first=1, last=1) | window(3))", kLongest, kFar * 64 * 7},
                        {"stride(1000)", kMillion, 1048576.0 * 1048.576},
                        {"random(64)", kLongest, kFar * 64},
                        {"causal & erdos_renyi(0.5)", 65536, 65536.0 * 65537 / 4}};
  for (const Case& each : cases) {
    const LayoutSurvey found = survey_layout(pattern::Pattern::parse(each.expression), test::square(each.length));
    EXPECT_GT(found.sampled, 0) << each.expression;
    EXPECT_NEAR(static_cast<double>(found.layout.edges), each.edges, 2 * found.edges_error + 1e-5 * each.edges)
        << each.expression;
    EXPECT_LT(found.edges_error, 0.1 * each.edges) << each.expression;
  }
}

TEST(Survey, RowsThatSeeEverythingAreNotMissed) {
  // One query in 2^31 has as many edges as all the others together.
  const LayoutSurvey found = survey_layout(pattern::Pattern::parse("window(1) | global(at=[123456789], side=queries)"),
                                           test::square(kLongest));
  EXPECT_NEAR(static_cast<double>(found.layout.edges), 2.0 * static_cast<double>(kLongest), 1e6);
}

TEST(Survey, RefusesWhatCannotBeCounted) {
  test::expect_error(ErrorKind::kArgument, {"4 heads of 2147483648 x 2147483648", "fewer heads"},
                     [] { survey_layout(pattern::Pattern::parse("full"), test::square(kLongest, 4)); });
  test::expect_error(ErrorKind::kArgument, {"draws or reads about 1048576 keys", "fewer keys"},
                     [] { survey_layout(pattern::Pattern::parse("random(1048576)"), test::square(kLongest)); });
  test::expect_error(ErrorKind::kArgument, {"head 1 does not exist", "there is 1 head"},
                     [] { survey_layout(pattern::Pattern::parse("full"), test::square(64), 1); });
}

class LongPicture : public testing::TestWithParam<const char*> {};

TEST_P(LongPicture, CostsWhatItDraws) {
  const std::string_view expression = GetParam();
  for (const std::int64_t length : {kMillion, kLongest}) {
    PictureRequest request{test::square(length, expression.starts_with("heads") ? 2 : 1)};
    request.head = 0;
    request.maximum_cells = WEFT_SANITIZED ? 8 : 32;
    const Picture picture = make_picture(pattern::Pattern::parse(expression), request);
    ASSERT_EQ(picture.panels.size(), 1U);
    const auto& cells = picture.panels[0].cells;
    for (std::int64_t i = 0; i < picture.rows; ++i) {
      EXPECT_GT(cells[static_cast<std::size_t>(i * picture.columns + i)].coverage, 0) << length << " cell " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Survey, LongPicture,
                         testing::Values("full", "causal", "strided(1024)", "window(512) | global(2)", "stride(7)",
                                         "erdos_renyi(0.5)", "heads(window(4), causal)"));

TEST(Survey, SampledCellsAgreeWithCountedOnes) {
  for (const char* expression : {"causal", "window(3000)", "global(2)", "segment(5000)"}) {
    const pattern::Pattern pattern = pattern::Pattern::parse(expression);
    PictureRequest request{test::square(std::int64_t{1} << 17)};
    request.maximum_cells = 16;
    request.site.heads = 1;
    const Picture picture = make_picture(pattern, request);  // 2^17 tokens in cells of 8,192
    request.site = test::square(std::int64_t{1} << 22);
    request.zoom = TokenRange{0, std::int64_t{1} << 17};
    const Picture zoomed = make_picture(pattern, request);
    ASSERT_EQ(picture.cell, zoomed.cell);
    for (std::size_t cell = 0; cell < picture.panels[0].cells.size(); ++cell) {
      const PictureCell& counted = picture.panels[0].cells[cell];
      const PictureCell& sampled = zoomed.panels[0].cells[cell];
      EXPECT_EQ(counted.kind, sampled.kind) << expression << " cell " << cell;
      EXPECT_NEAR(counted.coverage, sampled.coverage, 0.15) << expression << " cell " << cell;
    }
  }
}

TEST(Survey, AZoomOfALongSequenceIsExact) {
  PictureRequest request{test::square(kLongest)};
  request.zoom = TokenRange{1000000, 1000016};
  const Picture picture = make_picture(pattern::Pattern::parse("window(3)"), request);
  ASSERT_EQ(picture.cell, 1);
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t column = 0; column < 16; ++column) {
      EXPECT_EQ(picture.panels[0].cells[static_cast<std::size_t>(row * 16 + column)].coverage,
                std::abs(row - column) <= 1 ? 1 : 0);
    }
  }
}

TEST(Survey, BlocksNestAtNoCost) {
  std::string nested = "window(3)";
  for (int depth = 0; depth < 60; ++depth) {
    nested.insert(0, "block(1, ").append(")");
  }
  nested.insert(0, "block(2, block(3, ").append("))");
  EXPECT_EQ(pattern::Pattern::parse(nested).to_string(), nested);
  const pattern::Site site = test::square(100);
  for (std::int64_t query = 0; query < 100; query += 7) {
    for (std::int64_t key = 0; key < 100; ++key) {
      ASSERT_EQ(pattern::Pattern::parse(nested).multiplicity(site, query, key),
                pattern::Pattern::parse("block(6, window(3))").multiplicity(site, query, key));
    }
  }
  EXPECT_EQ(survey_layout(pattern::Pattern::parse(nested), test::square(kMillion)).layout.edges,
            survey_layout(pattern::Pattern::parse("block(6, window(3))"), test::square(kMillion)).layout.edges);
}

}  // namespace
}  // namespace weft::inspect
