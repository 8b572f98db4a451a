// SPDX-License-Identifier: Apache-2.0
// Measures of graphs against networkx (tests/fixtures/make/graph_measures.py), against each other, and what samples say
// of their error.
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/piece_counter.h"
#include "weft/inspect/graph/statistics.h"

namespace weft::inspect {
namespace {

constexpr const char* kFolder = WEFT_TEST_DATA_DIR "/inspect";

GraphRequest request_for(std::int64_t length, std::int64_t heads = 1) {
  GraphRequest request;
  request.site.query_length = length;
  request.site.key_length = length;
  request.site.heads = heads;
  return request;
}

GraphStatistics measure(const std::string& expression, const GraphRequest& request) {
  return graph_statistics(pattern::Pattern::parse(expression, kFolder), request);
}

TEST(GraphStatistics, AreThoseOfNetworkx) {
  std::ifstream file(std::string(kFolder) + "/graph_measures.txt");
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::int64_t positions = 0;
    double average = 0, largest = 0, unreachable = 0, clustering = 0, eigenvalue = 0, isolated = 0;
    if (!(words >> positions >> average >> largest >> unreachable >> clustering >> eigenvalue >> isolated)) {
      continue;
    }
    std::string expression;
    std::getline(words >> std::ws, expression);
    SCOPED_TRACE(expression);
    const GraphStatistics found = measure(expression, request_for(positions));
    EXPECT_NEAR(found.paths.average.value, average, 1e-12);
    EXPECT_EQ(static_cast<double>(found.paths.largest), largest);
    EXPECT_NEAR(found.paths.unreachable.value, unreachable, 1e-12);
    EXPECT_NEAR(found.clustering.value, clustering, 1e-12);
    EXPECT_NEAR(found.second_eigenvalue.value().value, eigenvalue, 1e-8) << "Lanczos against a dense solver";
    EXPECT_EQ(static_cast<double>(found.isolated), isolated);
    EXPECT_EQ(found.sampled, 0);
    EXPECT_EQ(found.paths.average.error + found.clustering.error + found.paths.unreachable.error, 0);
    ++cases;
  }
  EXPECT_GE(cases, 16);
}

TEST(GraphStatistics, CountEdgesBlocksAndPositions) {
  const GraphStatistics found = measure("window(2) | global(1, side=queries)", request_for(130));
  EXPECT_EQ(found.layout.edges, 3 * 130 - 2 + 128);
  EXPECT_EQ(found.possible_blocks, 9);
  EXPECT_EQ(found.isolated, 0);
  const GraphStatistics sinks = measure("global(at=[3, 5], side=keys)", request_for(100));
  EXPECT_EQ(sinks.unseen, 98);
  EXPECT_EQ(sinks.isolated, 0);
  const GraphStatistics alone = measure("window(1)", request_for(100));
  EXPECT_EQ(alone.isolated, 100);
  EXPECT_EQ(alone.unseen, 100);
  EXPECT_EQ(alone.paths.average.value, 0);
  EXPECT_EQ(alone.paths.unreachable.value, 1);
}

TEST(GraphStatistics, UniteHeadsUnlessOneIsNamed) {
  GraphRequest request = request_for(60, 2);
  EXPECT_EQ(measure("heads(window(2), global(1))", request).paths.largest, 2);
  request.head = 0;
  const GraphStatistics window = measure("heads(window(2), global(1))", request);
  EXPECT_EQ(window.paths.largest, 59);
  EXPECT_EQ(window.layout.edges, 3 * 60 - 2);
  EXPECT_EQ(window.possible_blocks, 1);
}

TEST(GraphStatistics, KnowStars) {
  const auto has_star = [](const std::string& expression) {
    return measure(expression, request_for(100)).contains_star;
  };
  for (const char* expression : {"star", "full", "global(at=[57])", "bigbird(block=8)", "etc(1, 3)"}) {
    EXPECT_TRUE(has_star(expression)) << expression;
  }
  for (const char* expression :
       {"causal", "window(50)", "global(1, side=keys)", "causal & global(1)", "axial(10, 10)"}) {
    EXPECT_FALSE(has_star(expression)) << expression;
  }
}

TEST(GraphStatistics, ReachGrowsByTheWindowAndFillsByGlobals) {
  GraphRequest request = request_for(1000);
  request.layers = 5;
  const GraphStatistics ring = measure("ring(4)", request);
  const GraphStatistics star = measure("star", request);
  ASSERT_EQ(ring.reach.size(), 5U);
  for (int layer = 0; layer < 5; ++layer) {
    EXPECT_DOUBLE_EQ(ring.reach[static_cast<std::size_t>(layer)].value, 4 * (layer + 1) + 1);
  }
  EXPECT_NEAR(star.reach[0].value, (1000 + 999 * 4 - 2) / 1000.0, 1e-9) << "the ring, itself and the relay";
  EXPECT_DOUBLE_EQ(star.reach[1].value, 1000);
}

TEST(GraphStatistics, ReachFollowsEachLayersOwnPattern) {
  GraphRequest request = request_for(200);
  request.layers = 3;
  const GraphStatistics found = measure("window(1) | ring(1) | (ring(3) & block(1, window(1) | ring(7)))", request);
  EXPECT_DOUBLE_EQ(found.reach[2].value, 7);
  // Layer 0 of heads: none; its number is the size of the window in layers 1 and 2.
  const GraphStatistics grown = measure("global(layer, side=keys)", request);
  EXPECT_DOUBLE_EQ(grown.reach[0].value, 1);
  EXPECT_NEAR(grown.reach[1].value, 2, 0.01);
  EXPECT_NEAR(grown.reach[2].value, 3, 0.02);
}

TEST(GraphStatistics, ReachIsThePathsWithinALayerEach) {
  GraphRequest request = request_for(90);
  request.layers = 6;
  const GraphStatistics found = measure("edges(\"rewired.mtx\")", request);
  for (const Estimate& layer : found.reach) {
    EXPECT_LE(layer.value, 90);
  }
  EXPECT_LT(found.reach[static_cast<std::size_t>(found.paths.largest - 2)].value, 90);
  EXPECT_DOUBLE_EQ(found.reach[static_cast<std::size_t>(found.paths.largest - 1)].value, 90);
}

TEST(GraphStatistics, SamplesStateTheirError) {
  const std::string expression = "watts_strogatz(6, 0.1, seed=4) | window(1)";
  const GraphStatistics all = measure(expression, request_for(1500));
  GraphRequest request = request_for(1500);
  request.exact_length = 100;
  request.samples = 150;
  request.layers = 2;
  const GraphStatistics some = measure(expression, request);
  EXPECT_EQ(some.sampled, 150);
  // Three half widths of a 95% interval are nearly six standard errors.
  EXPECT_GT(some.paths.average.error, 0);
  EXPECT_NEAR(some.paths.average.value, all.paths.average.value, 3 * some.paths.average.error);
  EXPECT_NEAR(some.clustering.value, all.clustering.value, 3 * some.clustering.error);
  EXPECT_LE(some.paths.largest, all.paths.largest);
  EXPECT_LT(some.paths.average.error, 0.1 * some.paths.average.value);
  EXPECT_GT(some.reach[1].error, 0);
}

TEST(GraphStatistics, LongSequencesAreSampled) {
  GraphRequest request = request_for(100000);
  request.layers = 2;
  const GraphStatistics found = measure("block(64, global(1) | window(3))", request);
  EXPECT_EQ(found.paths.largest, 2);
  EXPECT_GT(found.sampled, 15);
  EXPECT_NEAR(found.paths.average.value, 2 - (64.0 + 191) / 100000, 0.01);
  EXPECT_DOUBLE_EQ(found.reach[1].value, 100000);
}

TEST(GraphStatistics, GraphsTooLargeToMeasureHaveTheirEdgesEstimated) {
  GraphRequest request = request_for(std::int64_t{1} << 20);
  request.layers = 12;
  const GraphStatistics found = measure("strided(128)", request);
  EXPECT_FALSE(found.is_measured);
  EXPECT_GT(found.sampled_rows, 100);
  EXPECT_GT(found.edges_error, 0);
  // A query at i has the 129 keys of its window, and those a multiple of 128 back beyond it.
  constexpr double kQueries = 1 << 20;
  const double expected = kQueries * (129 + kQueries / 256 - 1.5);
  EXPECT_NEAR(static_cast<double>(found.layout.edges), expected, 2 * found.edges_error);
  EXPECT_LT(found.edges_error, 0.02 * expected);
}

TEST(GraphStatistics, EdgesThatLieFarApartAreCountedInLargeGraphs) {
  constexpr std::int64_t kQueries = WEFT_SANITIZED ? 1 << 18 : 1 << 20;
  const GraphStatistics found = measure("strided(1024)", request_for(kQueries));
  EXPECT_EQ(found.edges_error, 0);
  // As above with 1,024; the first 1,024 queries have fewer keys than their window.
  EXPECT_EQ(found.layout.edges, kQueries * 1025 + kQueries * (kQueries / 2048) - kQueries * 3 / 2 - 1024 * 1023 / 2);
}

TEST(GraphStatistics, RefuseWhatIsNoGraph) {
  GraphRequest request = request_for(10);
  request.site.key_length = 12;
  test::expect_error(ErrorKind::kArgument, {"as many queries as keys", "10 and 12"}, [&] { measure("full", request); });
  request = request_for(10);
  request.head = 1;
  test::expect_error(ErrorKind::kArgument, {"head 1 does not exist"}, [&] { measure("full", request); });
  test::expect_error(ErrorKind::kArgument, {"words of 64 pairs"},
                     [] { pattern_graph(pattern::Pattern::parse("causal"), request_for(60000).site); });
  test::expect_error(ErrorKind::kArgument, {"tiles of 64 x 64"}, [] {
    const std::vector<std::int64_t> heads{0};
    word_rows(compile(pattern::Pattern::parse("full"), request_for(10).site, {16, 64}), heads);
  });
}

TEST(WordRows, TransposeAndUniteByWords) {
  const pattern::Pattern pattern = pattern::Pattern::parse("random(7, seed=3) | global(at=[70], side=queries)");
  const pattern::Site site = request_for(200).site;
  const WordRows rows = pattern_graph(pattern, site);
  const WordRows both = symmetrised(rows);
  const std::vector<std::int64_t> incoming = incoming_degrees(rows);
  for (std::int64_t i = 0; i < 200; ++i) {
    std::vector<int> expected(200, 0);
    std::int64_t seen = 0;
    for (std::int64_t k = 0; k < 200; ++k) {
      const bool to = i != k && pattern.multiplicity(site, i, k) > 0;
      const bool from = i != k && pattern.multiplicity(site, k, i) > 0;
      expected[static_cast<std::size_t>(k)] = to || from ? 1 : 0;
      seen += from ? 1 : 0;
    }
    std::vector<int> found(200, 0);
    for_each_neighbour(both, i, [&](std::int64_t k) { found[static_cast<std::size_t>(k)] = 1; });
    ASSERT_EQ(found, expected) << i;
    ASSERT_EQ(incoming[static_cast<std::size_t>(i)], seen) << i;
  }
}

TEST(Spectrum, OfSmallAndKnownGraphs) {
  const auto second = [](const std::string& expression, std::int64_t length) {
    return second_eigenvalue(symmetrised(pattern_graph(pattern::Pattern::parse(expression), request_for(length).site)));
  };
  EXPECT_FALSE(second("full", 1));
  EXPECT_NEAR(second("full", 2).value().value, -1, 1e-12);
  EXPECT_NEAR(second("full", 50).value().value, -1.0 / 49, 1e-9);
  EXPECT_NEAR(second("ring(2)", 400).value().value, std::cos(2 * M_PI / 400), 1e-9);
  EXPECT_NEAR(second("full", 2000).value().value, -1.0 / 1999, 1e-9) << "two eigenvalues only";
  EXPECT_EQ(second("segment(8)", 64).value().value, 1);
}

// Behind the graph, its paths, its clusters, its eigenvalue, and each layer.
TEST(GraphStatistics, AreMeasuredInPieces) {
  test::PieceCounter counter;
  GraphRequest request = request_for(256);
  request.layers = 6;
  {
    const WatchedPieces watched(counter);
    measure("random(4)", request);
  }
  EXPECT_GE(counter.tokens().size(), 10U);
  test::PieceCounter two(2);
  const WatchedPieces watched(two);
  test::expect_error(ErrorKind::kInterrupted, {"nobody waits"}, [&] { measure("random(4)", request); });
}

}  // namespace
}  // namespace weft::inspect
