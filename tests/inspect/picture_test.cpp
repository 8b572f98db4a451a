// SPDX-License-Identifier: Apache-2.0
// Pictures against the pattern's own answers: every cell's share of edges is counted again token by token, and what the
// renderers write is read back.
#include "weft/inspect/picture/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/piece_counter.h"
#include "weft/core/error.h"
#include "weft/inspect/picture/canvas.h"
#include "weft/inspect/picture/style.h"
#include "weft/inspect/picture/terminal.h"

namespace weft::inspect {
namespace {

PictureRequest picture_request(std::int64_t length, std::int64_t heads = 1) {
  PictureRequest request;
  request.site.query_length = length;
  request.site.key_length = length;
  request.site.heads = heads;
  return request;
}

Picture picture_of(const std::string& expression, const PictureRequest& request) {
  return make_picture(pattern::Pattern::parse(expression), request);
}

std::int64_t edges_between(const pattern::Pattern& pattern, const pattern::Site& site, const TokenRange& queries,
                           const TokenRange& keys) {
  std::int64_t edges = 0;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      edges += pattern.multiplicity(site, query, key) > 0 ? 1 : 0;
    }
  }
  return edges;
}

/// Compares every cell of every panel with a count by multiplicity.
void expect_cells_match(const std::string& expression, const PictureRequest& request) {
  const pattern::Pattern pattern = pattern::Pattern::parse(expression);
  const Picture picture = make_picture(pattern, request);
  for (const PicturePanel& panel : picture.panels) {
    pattern::Site site = request.site;
    site.head = panel.heads.front();
    for (std::int64_t row = 0; row < picture.rows; ++row) {
      for (std::int64_t column = 0; column < picture.columns; ++column) {
        const std::int64_t query = picture.queries.begin + row * picture.cell;
        const std::int64_t key = picture.keys.begin + column * picture.cell;
        const TokenRange queries{query, std::min(query + picture.cell, picture.queries.end)};
        const TokenRange keys{key, std::min(key + picture.cell, picture.keys.end)};
        const auto pairs = static_cast<double>(queries.size() * keys.size());
        const PictureCell& cell = panel.cells[static_cast<std::size_t>(row * picture.columns + column)];
        const std::int64_t edges = edges_between(pattern, site, queries, keys);
        ASSERT_DOUBLE_EQ(cell.coverage, static_cast<double>(edges) / pairs)
            << expression << " queries from " << query << " keys from " << key << " cell " << picture.cell;
        ASSERT_EQ(cell.kind == pattern::EdgeKind::kNone, edges == 0);
      }
    }
  }
}

TEST(Picture, CellsCountEdgesExactly) {
  const std::vector<std::string> expressions = {"full",
                                                "causal",
                                                "window(9)",
                                                "window(left=70, right=3)",
                                                "strided(17)",
                                                "fixed(32, 4)",
                                                "global(3)",
                                                "window(8, dilation=5)",
                                                "block(7, window(3)) & causal",
                                                "!window(20)",
                                                "heads(window(4), causal & stride(9))"};
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (const std::string& expression : expressions) {
    for (int round = 0; round < 3; ++round) {
      PictureRequest request;
      request.site.heads = 2;
      request.site.query_length = 1 + static_cast<std::int64_t>(random() % 200);
      request.site.key_length = 1 + static_cast<std::int64_t>(random() % 200);
      request.site.query_offset = static_cast<std::int64_t>(random() % 3) * 7;
      request.maximum_cells = 1 + static_cast<std::int64_t>(random() % 100);
      SCOPED_TRACE("seed " + std::to_string(seed));
      expect_cells_match(expression, request);
    }
  }
}

TEST(Picture, ZoomStartsAtAWholeCellAndIsClipped) {
  PictureRequest request = picture_request(300);
  request.zoom = TokenRange{101, 250};
  request.maximum_cells = 40;
  const Picture picture = picture_of("window(64) | global(5)", request);
  EXPECT_EQ(picture.cell, 4);
  EXPECT_EQ(picture.queries.begin, 100);
  EXPECT_EQ(picture.queries.end, 250);
  expect_cells_match("window(64) | global(5)", request);
  request.zoom = TokenRange{290, 1000};
  EXPECT_EQ(picture_of("causal", request).queries.end, 300);
}

TEST(Picture, CellSidesDivideOrAreMultiplesOfTheTile) {
  for (const std::int64_t length : {1, 5, 64, 65, 129, 1000, 4096, 70000}) {
    PictureRequest request = picture_request(length);
    request.maximum_cells = 50;
    const Picture picture = picture_of("causal & window(left=8)", request);
    EXPECT_LE(picture.rows, 50) << length;
    EXPECT_TRUE(64 % picture.cell == 0 || picture.cell % 64 == 0) << picture.cell;
    EXPECT_GE(picture.rows * picture.cell, length);
  }
}

TEST(Picture, FiguresCountEveryHeadOnce) {
  const Picture both = picture_of("heads(causal, full)", picture_request(128, 2));
  EXPECT_EQ(both.figures.edges, 128 * 129 / 2 + 128 * 128);
  EXPECT_EQ(both.figures.full_blocks, 1 + 4);
  EXPECT_EQ(both.figures.partial_blocks, 2);
  EXPECT_EQ(both.figures.possible_blocks, 8);
  EXPECT_DOUBLE_EQ(both.figures.density, static_cast<double>(both.figures.edges) / (2.0 * 128 * 128));
  ASSERT_EQ(both.panels.size(), 2U);
  EXPECT_EQ(panel_label(both, both.panels[0]), "head 0");
  PictureRequest one = picture_request(128, 2);
  one.head = 0;
  const Picture first = picture_of("heads(causal, full)", one);
  EXPECT_EQ(first.figures.edges, 128 * 129 / 2);
  EXPECT_EQ(first.panels.size(), 1U);
}

TEST(Picture, HeadsThatLookAlikeShareAPanel) {
  const Picture picture = picture_of("heads(3 * window(4), 1 * causal, 2 * window(4))", picture_request(32, 6));
  ASSERT_EQ(picture.panels.size(), 2U);
  EXPECT_EQ(panel_label(picture, picture.panels[0]), "heads 0-2, 4-5");
  EXPECT_EQ(panel_label(picture, picture.panels[1]), "head 3");
  EXPECT_EQ(panel_label(picture_of("full", picture_request(4)), picture.panels[0]), "");
}

TEST(Picture, KindsAreThoseOfTheTerms) {
  const Picture picture = picture_of("causal & (window(left=4) | global(1, side=keys))", picture_request(64));
  const std::vector<pattern::EdgeKind> expected = {pattern::EdgeKind::kGlobal, pattern::EdgeKind::kWindow};
  EXPECT_EQ(kinds_of(picture), expected);
}

TEST(Picture, RefusesWhatIsNotThere) {
  PictureRequest request = picture_request(16, 2);
  request.head = 2;
  EXPECT_THROW(picture_of("full", request), Error);
  request = picture_request(16);
  request.zoom = TokenRange{16, 20};
  EXPECT_THROW(picture_of("full", request), Error);
  request.zoom = TokenRange{5, 5};
  EXPECT_THROW(picture_of("full", request), Error);
  request = picture_request(16);
  request.maximum_cells = 0;
  EXPECT_THROW(picture_of("full", request), Error);
}

TEST(PictureTerminal, AsciiShowsEveryPair) {
  const std::string text =
      terminal_picture(picture_of("causal & window(left=1)", picture_request(4)), TerminalStyle::kAscii);
  EXPECT_NE(text.find("  W . . .\n  W W . .\n  . W W .\n  . . W W\n"), std::string::npos) << text;
  EXPECT_NE(text.find("7 edges"), std::string::npos);
  EXPECT_NE(text.find("W window"), std::string::npos);
}

TEST(PictureTerminal, LowerCaseWhereOnlySomePairsAreEdges) {
  PictureRequest request = picture_request(8);
  request.maximum_cells = 4;
  const std::string text = terminal_picture(picture_of("causal", request), TerminalStyle::kAscii);
  EXPECT_NE(text.find("  f . . .\n  F f . .\n"), std::string::npos) << text;
}

TEST(PictureTerminal, ColourResetsAtEveryLine) {
  const std::string text = terminal_picture(picture_of("window(4)", picture_request(9)), TerminalStyle::kColour);
  std::size_t rows = 0;
  for (std::size_t at = text.find("\u2580\x1b[0m\n"); at != std::string::npos;
       at = text.find("\u2580\x1b[0m\n", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, 5U) << "nine rows of cells, two a line";
}

TEST(PictureTerminal, FitsTheWidth) {
  for (const std::int64_t width : {20, 40, 80, 81}) {
    for (const TerminalStyle style : {TerminalStyle::kColour, TerminalStyle::kUnicode, TerminalStyle::kAscii}) {
      const std::int64_t characters = style == TerminalStyle::kColour ? 1 : 2;
      EXPECT_LE(2 + cells_in_width(width, style) * characters, width);
    }
  }
}

/// A big-endian number of a PNG header.
std::int64_t number_at(const std::string& file, std::size_t at) {
  std::int64_t value = 0;
  for (std::size_t byte = 0; byte < 4; ++byte) {
    value = value * 256 + static_cast<unsigned char>(file[at + byte]);
  }
  return value;
}

TEST(PictureCanvas, PngHasSignatureSizeAndEnd) {
  const std::string file = png_picture(picture_of("strided(8)", picture_request(64)));
  ASSERT_GT(file.size(), 100U);
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_GT(number_at(file, 16), 600);
  EXPECT_GT(number_at(file, 20), 800);
  EXPECT_EQ(file.substr(file.size() - 8, 4), "IEND");
}

TEST(PictureCanvas, SvgDrawsCellsInTheColoursOfTheirKinds) {
  const std::string document = svg_picture(picture_of("causal & window(left=2)", picture_request(8)));
  EXPECT_EQ(document.substr(0, 5), "<?xml");
  EXPECT_NE(document.find("</svg>"), std::string::npos);
  EXPECT_NE(document.find("rgb(0%,44.7"), std::string::npos) << "the blue of windows";
}

TEST(PictureCanvas, DrawsAnEmptyPatternAndOddShapes) {
  EXPECT_FALSE(png_picture(picture_of("!full", picture_request(10))).empty());
  PictureRequest decode = picture_request(500);
  decode.site.query_length = 1;
  decode.site.query_offset = 499;
  EXPECT_FALSE(svg_picture(picture_of("causal & (window(left=64) | stride(50))", decode)).empty());
}

TEST(PictureStyle, KindsDifferInLetterAndColour) {
  for (int left = 0; left < pattern::kEdgeKinds; ++left) {
    for (int right = left + 1; right < pattern::kEdgeKinds; ++right) {
      const EdgeStyle& one = edge_style(static_cast<pattern::EdgeKind>(left));
      const EdgeStyle& other = edge_style(static_cast<pattern::EdgeKind>(right));
      EXPECT_NE(one.letter, other.letter);
      const double distance = std::abs(one.colour.red - other.colour.red) +
                              std::abs(one.colour.green - other.colour.green) +
                              std::abs(one.colour.blue - other.colour.blue);
      EXPECT_GT(distance, 0.2) << pattern::edge_kind_name(static_cast<pattern::EdgeKind>(left)) << " and "
                               << pattern::edge_kind_name(static_cast<pattern::EdgeKind>(right));
    }
  }
}

TEST(Picture, IsDrawnInPiecesAPanel) {
  test::PieceCounter all;
  {
    const WatchedPieces watched(all);
    EXPECT_EQ(picture_of("random(4)", picture_request(256, 5)).panels.size(), 5U);
  }
  EXPECT_GE(all.tokens().size(), 5U);
  test::PieceCounter three(3);
  const WatchedPieces watched(three);
  test::expect_error(ErrorKind::kInterrupted, {"nobody waits"},
                     [] { picture_of("random(4)", picture_request(256, 5)); });
  EXPECT_EQ(three.tokens().size(), 3U);
}

TEST(PictureStyle, OneEdgeInALargeCellIsSeen) {
  const Colour faint = tinted(edge_style(pattern::EdgeKind::kGlobal).colour, 1.0 / 4096);
  EXPECT_GT(kEmptyCell.blue - faint.blue, 0.2);
}

}  // namespace
}  // namespace weft::inspect
