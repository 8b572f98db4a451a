// SPDX-License-Identifier: Apache-2.0
// The cases of tests/fixtures/metrics: inputs, and what the reference programs made of them.
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/formats/config_json.h"
#include "weft/metrics/classification.h"

namespace weft::test {

/// The cases of metrics/<name>.json.
inline formats::Json metric_cases(const std::string& name) {
  return formats::read_json(std::filesystem::path(WEFT_TEST_DATA_DIR) / "metrics" / (name + ".json")).at("cases");
}

template <typename Value>
std::vector<Value> values(const formats::Json& list) {
  return list.get<std::vector<Value>>();
}

/// Precision, recall and F1 to the last bit; 0 where the reference has NaN, the mean over nothing.
inline void expect_scores(const metrics::Scores& found, const formats::Json& expected) {
  const auto figure = [&](std::size_t which) {
    return expected.at(which).is_null() ? 0.0 : expected.at(which).get<double>();
  };
  EXPECT_EQ(found.precision, figure(0));
  EXPECT_EQ(found.recall, figure(1));
  EXPECT_EQ(found.f1, figure(2));
}

}  // namespace weft::test
