// SPDX-License-Identifier: Apache-2.0
// The figures that are no scores.
#include "weft/metrics/figures.h"

#include <algorithm>
#include <array>

namespace weft::metrics {
namespace {

struct Figure {
  std::string_view name;
  FigureKind kind;
};

constexpr auto kSmaller = FigureKind::kSmallerIsBetter;
constexpr auto kExtent = FigureKind::kExtent;

constexpr std::array kFigures{
    Figure{"loss", kSmaller},
    Figure{"train_loss", kSmaller},
    Figure{"eval_loss", kSmaller},
    Figure{"error", kSmaller},
    Figure{"masked_loss", kSmaller},
    Figure{"contrastive_loss", kSmaller},
    Figure{"perplexity", kSmaller},
    Figure{"bits_per_byte", kSmaller},
    Figure{"bits_per_character", kSmaller},
    Figure{"bits_per_base", kSmaller},
    Figure{"mean_squared_error", kSmaller},
    Figure{"step", kExtent},
    Figure{"seconds", kExtent},
    Figure{"bytes", kExtent},
    Figure{"characters", kExtent},
    Figure{"tokens", kExtent},
    Figure{"masked_tokens", kExtent},
    Figure{"pictures", kExtent},
    Figure{"context", kExtent},
    Figure{"memory", kExtent},
    Figure{"best_threshold", kExtent},
};

}  // namespace

FigureKind figure_kind(std::string_view name) noexcept {
  const auto found = std::ranges::find(kFigures, name, &Figure::name);
  return found == kFigures.end() ? FigureKind::kLargerIsBetter : found->kind;
}

}  // namespace weft::metrics
