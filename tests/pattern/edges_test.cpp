// SPDX-License-Identifier: Apache-2.0
// edges("file.mtx"): what a Matrix Market file means, and files that break its rules or lie where they must not.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "pattern/dense_layout.h"
#include "support/expect_error.h"
#include "weft/pattern/edge_kind.h"
#include "weft/pattern/nodes/matrix_market.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

constexpr const char* kBanner = "%%MatrixMarket matrix coordinate pattern general\n";

class Edges : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / (std::string("weft_edges_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "inside");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Pattern parse(const std::string& expression) const { return Pattern::parse(expression, folder_); }
  std::string parse_error(const std::string& expression) const {
    try {
      parse(expression);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

Site site_between(std::int64_t queries, std::int64_t keys) {
  Site site;
  site.query_length = queries;
  site.key_length = keys;
  return site;
}

TEST_F(Edges, AreTheEntriesOfTheFile) {
  write("graph.mtx", std::string(kBanner) + "% a comment\n\n3 4 3\n1 1\n1 4\n3 2\n");
  const Pattern pattern = parse("edges(\"graph.mtx\")");
  const std::vector<int> expected{1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0};
  EXPECT_EQ(test::dense_oracle(pattern, site_between(3, 4)), expected);
  EXPECT_EQ(test::dense_layout(compile(pattern, site_between(3, 4), {}), 0, 0), expected);
  EXPECT_EQ(edge_kind(pattern, site_between(3, 4), 0, 3), EdgeKind::kOther);
}

TEST_F(Edges, FollowFieldSymmetryAndZeros) {
  write("a.mtx", "%%matrixmarket MATRIX Coordinate Real Symmetric\r\n3 3 3\r\n2 1 0.5\r\n3 3 -1e3\r\n3 1 0\r\n");
  EXPECT_EQ(test::dense_oracle(parse("edges(\"a.mtx\")"), site_between(3, 3)),
            (std::vector<int>{0, 1, 0, 1, 0, 0, 0, 0, 1}));
  write("b.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 0 1\n2 2 0 0\n");
  EXPECT_EQ(test::dense_oracle(parse("edges(\"b.mtx\")"), site_between(2, 2)), (std::vector<int>{1, 0, 0, 0}));
  write("c.mtx", std::string(kBanner) + "2 2 2\n1 2\n1 2");
  EXPECT_EQ(test::dense_oracle(parse("edges(\"c.mtx\")"), site_between(2, 2)), (std::vector<int>{0, 1, 0, 0}));
}

TEST_F(Edges, CountBlocksInsideABlock) {
  write("graph.mtx", std::string(kBanner) + "2 2 1\n1 2\n");
  EXPECT_EQ(test::dense_oracle(parse("block(2, edges(\"graph.mtx\"))"), site_between(3, 3)),
            (std::vector<int>{0, 0, 1, 0, 0, 1, 0, 0, 0}));
}

TEST_F(Edges, PrintADigestThatHoldsThemToTheirGraph) {
  write("graph.mtx", std::string(kBanner) + "2 2 1\n1 2\n");
  const std::string text = parse("edges(\"graph.mtx\")").to_string();
  EXPECT_TRUE(text.starts_with("edges(\"graph.mtx\", digest=")) << text;
  EXPECT_EQ(parse(text).to_string(), text);
  write("graph.mtx", std::string(kBanner) + "2 2 1\n2 1\n");
  EXPECT_NE(parse_error(text).find("holds another graph"), std::string::npos);
  EXPECT_NE(parse("edges(\"graph.mtx\")").to_string(), text);
}

TEST_F(Edges, NeedTheSiteToFit) {
  write("graph.mtx", std::string(kBanner) + "4 4 1\n1 4\n");
  const Pattern pattern = parse("edges(\"graph.mtx\")");
  EXPECT_EQ(compile(pattern, site_between(3, 3), {}).edges(), 0);
  test::expect_error(ErrorKind::kExpression, {"has 4 query and 4 key positions", "needs 5 and 4"},
                     [&] { pattern.check(site_between(5, 4)); });
}

TEST_F(Edges, StayInTheirDirectory) {
  write("graph.mtx", std::string(kBanner) + "1 1 1\n1 1\n");
  std::filesystem::create_symlink(folder_ / "graph.mtx", folder_ / "inside" / "link.mtx");
  std::filesystem::create_symlink("graph.mtx", folder_ / "near.mtx");
  EXPECT_EQ(parse_error("edges(\"near.mtx\")"), "no error");
  EXPECT_NE(parse_error("edges(\"../graph.mtx\")").find("must lie below"), std::string::npos);
  EXPECT_NE(parse_error("edges(\"inside/../graph.mtx\")").find("must lie below"), std::string::npos);
  EXPECT_NE(parse_error("edges(\"" + (folder_ / "graph.mtx").string() + "\")").find("must lie below"),
            std::string::npos);
  EXPECT_NE(parse_error("edges(\"\")").find("must lie below"), std::string::npos);
  EXPECT_NE(parse_error("edges(\"none.mtx\")").find("cannot open 'none.mtx'"), std::string::npos);
  const std::filesystem::path inside = folder_ / "inside";
  EXPECT_THROW(Pattern::parse("edges(\"link.mtx\")", inside), Error);
  EXPECT_EQ(mkfifo((folder_ / "pipe.mtx").c_str(), 0600), 0);
  EXPECT_NE(parse_error("edges(\"pipe.mtx\")"), "no error");
  EXPECT_NE(parse_error("edges(\"inside\")"), "no error");
}

TEST(MatrixMarket, BrokenFilesNameTheLineAndTheRule) {
  const struct {
    std::string text;
    const char* expected;
  } cases[] = {
      {"", "line 1: expected the banner"},
      {"3 3 1\n1 1\n", "line 1: expected the banner"},
      {"%%MatrixMarket vector coordinate pattern general\n", "line 1: expected the banner"},
      {"%%MatrixMarket matrix list pattern general\n", "the format must be coordinate, found 'list'"},
      {"%%MatrixMarket matrix coordinate quaternion general\n", "the field must be one of"},
      {"%%MatrixMarket matrix coordinate real upper\n", "the symmetry must be one of"},
      {"%%MatrixMarket matrix coordinate real general extra\n", "expected the end of the line"},
      {kBanner, "found the end"},
      {std::string(kBanner) + "3 3\n", "line 2: the number of entries must be"},
      {std::string(kBanner) + "0 3 0\n", "the number of rows must be a whole number in [1,"},
      {std::string(kBanner) + "3 -3 0\n", "the number of columns"},
      {std::string(kBanner) + "3 3 99999999999999999999\n", "the number of entries"},
      {std::string(kBanner) + "3 3 33554433\n", "the number of entries"},
      {std::string(kBanner) + "99999999999999999 3 1\n", "the number of rows"},
      {std::string(kBanner) + "3 3 2\n1 1\n", "states 2 entries, the file ends after 1"},
      {std::string(kBanner) + "3 3 1\n1 1\n2 2\n", "line 4: the size line states 1 entries, here is one more"},
      {std::string(kBanner) + "3 3 1\n0 1\n", "the row must be a whole number in [1, 3], found '0'"},
      {std::string(kBanner) + "3 3 1\n1 4\n", "the column must be a whole number in [1, 3], found '4'"},
      {std::string(kBanner) + "3 3 1\n1\n", "the column must be a whole number in [1, 3], found nothing"},
      {std::string(kBanner) + "3 3 1\n1.5 1\n", "found '1.5'"},
      {std::string(kBanner) + "3 3 1\n1 1 7\n", "expected the end of the line, found '7'"},
      {std::string(kBanner) + "3 3 1\n1 \xFF\x01\n", "found '\\xff\\x01'"},
      {"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 nan\n", "finite number, found 'nan'"},
      {"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n", "finite number, found nothing"},
      {"%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n1 1 1\n", "must be square, found 3 x 4"},
  };
  for (const auto& [text, expected] : cases) {
    test::expect_error(ErrorKind::kFormat, {"edges: 'g.mtx', line ", expected},
                       [&, &text = text] { read_matrix_market(text, "g.mtx"); });
  }
  test::expect_error(ErrorKind::kUnsupported, {"dense matrix"},
                     [] { read_matrix_market("%%MatrixMarket matrix array real general\n2 2\n", "g.mtx"); });
}

TEST_F(Edges, AnExpressionSaysWhichFilesItNeedsAndWhatTheySay) {
  write("graph.mtx", "%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 0.5\n4 4 1\n3 1 0\n");
  write("inside/other.mtx", std::string(kBanner) + "9 9 1\n9 1\n");
  const char* expression = "edges(\"graph.mtx\") | !block(2, edges(\"inside/other.mtx\") & edges(\"graph.mtx\"))";
  const std::vector<PatternFile> files = parse(expression).files();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "graph.mtx");
  EXPECT_EQ(files[1].name, "inside/other.mtx");
  EXPECT_EQ(files[0].content, std::string(kBanner) + "4 4 3\n1 2\n2 1\n4 4\n");
  const std::string before = parse("edges(\"graph.mtx\")").to_string();
  write("graph.mtx", files[0].content);
  EXPECT_EQ(parse("edges(\"graph.mtx\")").to_string(), before) << "the digest is of the edges, not of the text";
  EXPECT_TRUE(Pattern::parse("window(3) | global(1)").files().empty());
}

}  // namespace
}  // namespace weft::pattern
