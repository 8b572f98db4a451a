// SPDX-License-Identifier: Apache-2.0
// ROUGE against rouge_score, its stems against NLTK, bit for bit; the common subsequence against the table of the
// books.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "metrics/fixture.h"
#include "support/expect_error.h"
#include "weft/core/random.h"
#include "weft/metrics/summary/common_subsequence.h"
#include "weft/metrics/summary/porter_stemmer.h"
#include "weft/metrics/summary/rouge.h"

namespace weft::metrics {
namespace {

using formats::Json;
using Texts = std::vector<std::string>;

TEST(RougeTest, EqualsRougeScore) {
  int cases = 0;
  for (const Json& test : test::metric_cases("rouge")) {
    RougeScorer scorer(test.at("stemmer").get<bool>());
    scorer.add(test.at("summary").get<std::string>(), test.at("references").get<Texts>());
    const RougeScore score = scorer.mean();
    for (std::size_t kind = 0; kind < score.size(); ++kind) {
      const auto expected = test.at("scores").at(kind).get<std::vector<double>>();
      EXPECT_EQ((std::vector{score[kind].precision, score[kind].recall, score[kind].f1}), expected)
          << kRougeNames[kind] << ' ' << test.at("summary");
    }
    ++cases;
  }
  EXPECT_EQ(cases, 80);
}

TEST(RougeTest, IntervalsHoldTheMean) {
  RougeScorer scorer(true);
  const Texts reference = {"the weaver weaves"};
  for (const char* summary : {"the weaver", "looms", "the weaver weaves", "a loom"}) {
    scorer.add(summary, reference);
  }
  const std::vector<BootstrapInterval> intervals = scorer.intervals(1000);
  ASSERT_EQ(intervals.size(), kRougeNames.size());
  EXPECT_NEAR(intervals[0].mean, scorer.mean()[0].f1, 0.02);
  EXPECT_GT(intervals[0].half_width, 0.1);
  test::expect_error(ErrorKind::kArgument, {"reference"}, [&] { scorer.add("a", {}); });
  test::expect_error(ErrorKind::kArgument, {"summary"}, [] { RougeScorer(true).mean(); });
}

TEST(PorterStemmerTest, EqualsNltk) {
  const Json words = test::metric_cases("stems").front().at("words");
  ASSERT_GT(words.size(), 500U);
  for (const Json& pair : words) {
    EXPECT_EQ(porter_stem(pair[0].get<std::string>()), pair[1].get<std::string>()) << pair[0];
  }
  EXPECT_EQ(porter_stem(""), "");
}

TEST(Rouge, SaysWhereItCountsNoWords) {
  const auto remark = [](std::vector<std::string> references) {
    RougeScorer scorer(true);
    for (const std::string& reference : references) {
      scorer.add(reference, std::span(&reference, 1));
    }
    return scorer.reach().remark();
  };
  EXPECT_EQ(remark({"The loom.", ""}), "");
  EXPECT_EQ(remark({"Die Weberin kämmt Wolle – „ohne“ Übermut…"}), "");
  EXPECT_NE(remark({"織機が動く。"}).find("100% of the letters"), std::string::npos);
  EXPECT_NE(remark({"织机", "The loom runs the whole day long, and so on"}).find("1 of 2 hold no word"),
            std::string::npos);
  EXPECT_NE(remark({"Станок works"}).find("54%"), std::string::npos);
}

// rouge_score's table and its way back.
std::vector<std::size_t> by_table(const Symbols& rows, const Symbols& columns) {
  std::vector<std::vector<int>> table(rows.size() + 1, std::vector<int>(columns.size() + 1));
  for (std::size_t i = 1; i <= rows.size(); ++i) {
    for (std::size_t j = 1; j <= columns.size(); ++j) {
      table[i][j] =
          rows[i - 1] == columns[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  std::vector<std::size_t> places;
  for (std::size_t i = rows.size(), j = columns.size(); i > 0 && j > 0;) {
    if (rows[i - 1] == columns[j - 1]) {
      places.push_back(--i);
      --j;
    } else if (table[i][j - 1] > table[i - 1][j]) {
      --j;
    } else {
      --i;
    }
  }
  std::reverse(places.begin(), places.end());
  return places;
}

TEST(CommonSubsequenceTest, IsThatOfTheTable) {
  for (std::uint64_t test = 0; test < 300; ++test) {
    const auto draw = [&](std::uint64_t place, std::uint64_t bound) {
      return random_below(random_bits(7, test, place), bound);
    };
    Symbols rows(draw(1, test % 3 == 0 ? 200 : 20));
    Symbols columns(draw(2, test % 5 == 0 ? 200 : 20));
    const std::uint64_t letters = 1 + draw(3, 12);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i] = static_cast<std::uint32_t>(draw(100 + i, letters));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i] = static_cast<std::uint32_t>(draw(1000 + i, letters));
    }
    const std::vector<std::size_t> expected = by_table(rows, columns);
    ASSERT_EQ(common_subsequence(rows, columns), expected) << test;
    ASSERT_EQ(common_subsequence_length(rows, columns), static_cast<std::int64_t>(expected.size())) << test;
  }
  const Symbols long_text(std::size_t{1} << 18, 1);
  test::expect_error(ErrorKind::kArgument, {"262144", "1 GiB"}, [&] { common_subsequence(long_text, long_text); });
  EXPECT_EQ(common_subsequence_length(Symbols(std::size_t{1} << 14, 1), Symbols(std::size_t{1} << 13, 1)), 1 << 13);
}

}  // namespace
}  // namespace weft::metrics
