// SPDX-License-Identifier: Apache-2.0
// Learned positions of a picture's bytes: the sum of three embeddings, of the row, the column and the channel (Child et
// al. 2019, section 5.2). A picture of 32 x 32 x 3 bytes has 67 of them in place of 3,072.
#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// The sides of a picture; all 0 where there is none.
struct PictureSides {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t channels = 0;
};

/// Position p is that of byte p in raster order, the channels of a pixel side by side: P(p) = R[p / (columns *
/// channels)] + C[p / channels % columns] + K[p % channels].
class PicturePositionsImpl : public torch::nn::Module {
 public:
  PicturePositionsImpl(const PictureSides& sides, std::int64_t hidden, const at::TensorOptions& options);
  /// -> [count, hidden] for positions from `first` on, all of which are in the picture.
  at::Tensor forward(std::int64_t first, std::int64_t count) const;

  at::Tensor rows;      ///< [rows, hidden]
  at::Tensor columns;   ///< [columns, hidden]
  at::Tensor channels;  ///< [channels, hidden]
};
TORCH_MODULE(PicturePositions);

}  // namespace weft::layers
