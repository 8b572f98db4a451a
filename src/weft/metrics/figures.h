// SPDX-License-Identifier: Apache-2.0
// What the figures of an evaluation say of a model, by their names: which way is better, or only how much was
// evaluated.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::metrics {

enum class FigureKind : std::uint8_t {
  kSmallerIsBetter,  ///< losses, errors, perplexities, bits a unit
  kLargerIsBetter,   ///< scores
  kExtent,           ///< how much was evaluated, and how: seconds, bytes, tokens, thresholds
};

/// The kind of a figure that evaluations of Weft have. One that the table does not list is a score: a task that
/// measures something else adds a row.
FigureKind figure_kind(std::string_view name) noexcept;

/// Whether it compares models.
inline bool measures_the_model(std::string_view name) noexcept { return figure_kind(name) != FigureKind::kExtent; }

}  // namespace weft::metrics
