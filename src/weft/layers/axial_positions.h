// SPDX-License-Identifier: Apache-2.0
// Axial position embeddings (Kitaev et al. 2020, Reformer): positions are laid out in a rectangle, and a position's
// embedding is that of its row, followed by that of its column. Half a million positions then need some thousand rows.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace weft::layers {

/// The rectangle, and how many of the hidden columns each part has. Validated by the model's config.
struct AxialShape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t row_width = 0;
  std::int64_t column_width = 0;

  /// Positions that have an embedding.
  std::int64_t length() const noexcept { return rows * columns; }
};

/// P(p) = [R(p / columns); C(p mod columns)], the quotient rounded down.
class AxialPositionsImpl : public torch::nn::Module {
 public:
  /// Storage only; the model initialises.
  AxialPositionsImpl(const AxialShape& shape, const at::TensorOptions& options);
  /// -> [count, row_width + column_width] of the positions from `first` on, all below length(). Only the embeddings of
  /// these positions are read.
  at::Tensor forward(std::int64_t first, std::int64_t count);

  // As released, each with the other's axis, along which it is constant.
  at::Tensor rows;     ///< R [rows, 1, row_width]
  at::Tensor columns;  ///< C [1, columns, column_width]
};
TORCH_MODULE(AxialPositions);

}  // namespace weft::layers
