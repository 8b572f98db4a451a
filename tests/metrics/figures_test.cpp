// SPDX-License-Identifier: Apache-2.0
// Figures by their names.
#include "weft/metrics/figures.h"

#include <gtest/gtest.h>

namespace weft::metrics {
namespace {

TEST(Figures, KnowWhichWayIsBetter) {
  for (const char* name : {"loss", "bits_per_byte", "perplexity", "eval_loss", "mean_squared_error", "error"}) {
    EXPECT_EQ(figure_kind(name), FigureKind::kSmallerIsBetter) << name;
  }
  for (const char* name : {"accuracy", "f1", "pearson", "roc_auc", "roc_auc_loss"}) {
    EXPECT_EQ(figure_kind(name), FigureKind::kLargerIsBetter) << name;
  }
  for (const char* name : {"seconds", "best_threshold"}) {
    EXPECT_EQ(figure_kind(name), FigureKind::kExtent) << name;
  }
}

}  // namespace
}  // namespace weft::metrics
