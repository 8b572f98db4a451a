// SPDX-License-Identifier: Apache-2.0
// The metrics of a run, and how a resumed run takes them back to its checkpoint.
#include "weft/training/run/metrics_log.h"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temporary_directory.h"

namespace weft::training {
namespace {

using formats::Json;

TEST(MetricsLog, CutsWhatIsBeyondTheCheckpoint) {
  const test::TemporaryDirectory folder;
  {
    MetricsLog log(folder.path(), 0);
    for (int step = 1; step <= 10; ++step) {
      log.train({{"step", step}, {"loss", 1.0 / step}});
      if (step % 5 == 0) {
        log.evaluation(step, {{"bits_per_byte", 2.0 / step}});
      }
    }
    const auto evaluations = log.evaluations();
    ASSERT_EQ(evaluations.size(), 2U);
    EXPECT_EQ(evaluations[0].first, 5);
    EXPECT_EQ(evaluations[0].second.at("bits_per_byte"), 0.4);
  }
  std::ofstream(folder / "metrics.jsonl", std::ios::app) << R"({"step": 11, "lo)";
  MetricsLog log(folder.path(), 5);
  EXPECT_EQ(formats::read_json_lines(folder / "metrics.jsonl").size(), 6U);
  ASSERT_EQ(log.evaluations().size(), 1U);
  EXPECT_EQ(log.evaluations()[0].first, 5);
  log.train({{"step", 6}, {"loss", 0.5}});
  const std::vector<Json> lines = formats::read_json_lines(folder / "metrics.jsonl");
  EXPECT_EQ(lines.back().at("step"), 6);
  EXPECT_GT(lines.back().at("time").get<double>(), 1.7e9);
}

TEST(MetricsLog, ANewProcessWritesAnEventFileOfItsOwn) {
  const test::TemporaryDirectory folder;
  for (int step = 0; step < 2; ++step) {
    MetricsLog log(folder.path(), step);
    log.train({{"step", step + 1}, {"loss", 1.0}});
    log.sync();
  }
  EXPECT_EQ(folder.entries(), 3U);
}

}  // namespace
}  // namespace weft::training
