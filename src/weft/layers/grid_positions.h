// SPDX-License-Identifier: Apache-2.0
// Learned positions of places in a grid: the sum of embeddings of the row, of the column and, in a picture, of the
// channel (Child et al. 2019, section 5.3). A picture of 32 x 32 x 3 bytes has 67 of them in place of 3,072, and a text
// of 12,288 tokens in rows as long as a stride of 128 has 224.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// The sides of a grid; all 0 where there is none.
struct GridSides {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t channels = 0;  ///< of a picture, side by side in each of its places; 0: a place has one token
};

/// Position p is that of token p in raster order: P(p) = R[p / columns] + C[p % columns] without channels, else
/// R[p / (columns * channels)] + C[p / channels % columns] + K[p % channels].
class GridPositionsImpl : public torch::nn::Module {
 public:
  GridPositionsImpl(const GridSides& sides, std::int64_t hidden, const at::TensorOptions& options);
  /// -> [count, hidden] for positions from `first` on, all of which are in the grid.
  at::Tensor forward(std::int64_t first, std::int64_t count) const;

  at::Tensor rows;      ///< [rows, hidden]
  at::Tensor columns;   ///< [columns, hidden]
  at::Tensor channels;  ///< [channels, hidden], where there are any
};
TORCH_MODULE(GridPositions);

}  // namespace weft::layers
