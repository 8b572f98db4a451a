// SPDX-License-Identifier: Apache-2.0
// Every name of the language, by its table: an example of each parses, prints, compiles, is drawn and is measured, so
// that a name cannot be added without all of it.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/inspect/picture/canvas.h"
#include "weft/inspect/picture/terminal.h"
#include "weft/pattern/language/names.h"

namespace weft::inspect {
namespace {

constexpr const char* kTables = WEFT_TEST_DATA_DIR "/inspect";

const std::multimap<std::string, std::string>& examples() {
  static const std::multimap<std::string, std::string> known{
      {"full", "full"},
      {"causal", "causal"},
      {"window", "window(8)"},
      {"window", "window(left=7, right=2, dilation=3)"},
      {"ring", "ring(6)"},
      {"circle", "circle(left=7, right=2, multiple=8)"},
      {"global", "global(2)"},
      {"global", "global(first=1, last=2, at=[9, 40], input, side=keys)"},
      {"random", "random(4, seed=3)"},
      {"random", "random(4, seed=layer, share=heads)"},
      {"stride", "stride(9)"},
      {"segment", "segment(16)"},
      {"summary", "summary(16, 3)"},
      {"erdos_renyi", "erdos_renyi(0.07, seed=1)"},
      {"watts_strogatz", "watts_strogatz(6, 0.3, seed=1)"},
      {"edges", "edges(\"rewired.mtx\")"},
      {"axial", "axial(9, 10)"},
      {"block", "block(8, window(3) | global(1))"},
      {"heads", "heads(1 * window(5), 1 * stride(5))"},
      {"heads", "heads(window(5), causal)"},
      {"bigbird", "bigbird(block=8)"},
      {"bigbird", "bigbird(block=8, random=2, seed=5, plan=\"released\")"},
      {"bigbird", "bigbird(block=8, plan=\"hf-eval\")"},
      {"bigbird", "bigbird(block=8, window=5, plan=\"uniform\")"},
      {"longformer", "longformer(8)"},
      {"etc", "etc(global=4, window=9)"},
      {"star", "star"},
      {"strided", "strided(9)"},
      {"strided", "strided(9, split=true)"},
      {"fixed", "fixed(10, 2)"},
      {"fixed", "fixed(10, 2, split=true)"},
  };
  return known;
}

const std::vector<std::int64_t> kInput{3, 50};

pattern::Site site() {
  pattern::Site site;
  site.query_length = 90;
  site.key_length = 90;
  site.heads = 2;
  site.layer = 2;
  site.maximum_length = 4096;
  site.input = kInput;
  return site;
}

TEST(LanguageTable, EveryNameHasAnExample) {
  for (const pattern::Name& name : pattern::names()) {
    EXPECT_TRUE(examples().contains(std::string(name.name))) << name.name;
    EXPECT_NE(name.usage.find(name.name), std::string_view::npos) << name.name;
    EXPECT_FALSE(name.summary.empty()) << name.name;
  }
}

TEST(LanguageTable, EveryExamplePrintsAndExpands) {
  for (const auto& [name, expression] : examples()) {
    const pattern::Pattern pattern = pattern::Pattern::parse(expression, kTables);
    const pattern::Pattern again = pattern::Pattern::parse(pattern.to_string(), kTables);
    EXPECT_EQ(again.to_string(), pattern.to_string());
    const pattern::Pattern expanded = pattern::Pattern::parse(pattern.expanded(), kTables);
    EXPECT_EQ(test::dense_oracle(expanded, site()), test::dense_oracle(pattern, site())) << expression;
  }
}

TEST(LanguageTable, EveryExampleCompilesForEveryHead) {
  for (const auto& [name, expression] : examples()) {
    const pattern::Pattern pattern = pattern::Pattern::parse(expression, kTables);
    const pattern::BlockLayout layout = compile(pattern, site(), {16, 32});
    for (pattern::Site head = site(); head.head < head.heads; ++head.head) {
      EXPECT_EQ(test::dense_layout(layout, 0, head.head), test::dense_oracle(pattern, head)) << expression;
    }
  }
}

TEST(LanguageTable, EveryExampleIsDrawnAndMeasured) {
  for (const auto& [name, expression] : examples()) {
    SCOPED_TRACE(expression);
    const pattern::Pattern pattern = pattern::Pattern::parse(expression, kTables);
    PictureRequest request;
    request.site = site();
    const Picture picture = make_picture(pattern, request);
    EXPECT_FALSE(kinds_of(picture).empty());
    EXPECT_NE(svg_picture(picture).find("</svg>"), std::string::npos);
    EXPECT_NE(terminal_picture(picture, TerminalStyle::kAscii).find("edges"), std::string::npos);
    const GraphStatistics found = graph_statistics(pattern, {.site = site(), .layers = 2});
    EXPECT_GT(found.layout.edges, 0);
    EXPECT_GE(found.clustering.value, 0);
    EXPECT_LE(found.clustering.value, 1);
    ASSERT_TRUE(found.second_eigenvalue);
    EXPECT_LE(found.second_eigenvalue->value, 1 + 1e-9);
    EXPECT_GE(found.reach[1].value, found.reach[0].value);
  }
}

}  // namespace
}  // namespace weft::inspect
