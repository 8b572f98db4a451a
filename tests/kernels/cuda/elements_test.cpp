// SPDX-License-Identifier: Apache-2.0
// Rotary positions by the pass over elements, against the equation: rows of even and odd halves, aligned and not, with
// gaps between heads.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cuda/emulated_passes.h"
#include "weft/kernels/storage.h"

namespace weft::test {
namespace {

// [2, rows, 3, columns] in memory, as projections give heads; `offset` numbers lie before the first.
template <typename Storage>
class Rotated {
 public:
  using Memory = typename Storage::Memory;

  Rotated(std::int64_t rows, std::int64_t half, std::int64_t gap, std::int64_t offset)
      : rows_(rows), half_(half), stride_(2 * half + gap), offset_(offset) {
    const auto numbers = static_cast<std::size_t>(offset + 2 * rows * 3 * stride_);
    input_.resize(numbers);
    output_.resize(numbers);
    std::mt19937_64 engine(static_cast<std::uint64_t>(rows + half));
    std::normal_distribution<float> normal;
    for (Memory& number : input_) {
      Storage::store(&number, normal(engine));
    }
    for (std::int64_t angle = 0; angle < rows * half; ++angle) {
      cosine_.push_back(normal(engine));
      sine_.push_back(normal(engine));
    }
  }

  void expect_rotation(kernels::DType dtype, bool is_inverse) {
    const std::int64_t of_batch = rows_ * 3 * stride_;
    kernels::cuda::DeviceRotation call;
    call.dtype = dtype;
    call.batch = 2;
    call.heads = 3;
    call.length = rows_;
    call.half = half_;
    call.input = {input_.data() + offset_, of_batch, stride_, 3 * stride_};
    call.output = {output_.data() + offset_, of_batch, stride_, 3 * stride_};
    call.cosine = cosine_.data();
    call.sine = sine_.data();
    call.is_inverse = is_inverse;
    emulate_rotation(call);
    for (std::int64_t row = 0; row < 2 * rows_ * 3; ++row) {
      expect_row(offset_ + row * stride_, row / 3 % rows_, is_inverse ? -1.0F : 1.0F);
    }
  }

 private:
  void expect_row(std::int64_t first, std::int64_t position, float sign) const {
    const auto number = [](const std::vector<Memory>& of, std::int64_t at) {
      return Storage::load(&of[static_cast<std::size_t>(at)]);
    };
    for (std::int64_t column = 0; column < half_; ++column) {
      const auto angle = static_cast<std::size_t>(position * half_ + column);
      const float one = number(input_, first + column);
      const float two = number(input_, first + half_ + column);
      Memory rotated[2];
      Storage::store(&rotated[0], one * cosine_[angle] - two * (sine_[angle] * sign));
      Storage::store(&rotated[1], two * cosine_[angle] + one * (sine_[angle] * sign));
      ASSERT_EQ(number(output_, first + column), Storage::load(&rotated[0])) << first << ' ' << column;
      ASSERT_EQ(number(output_, first + half_ + column), Storage::load(&rotated[1])) << first << ' ' << column;
    }
  }

  std::int64_t rows_;
  std::int64_t half_;
  std::int64_t stride_;
  std::int64_t offset_;
  std::vector<Memory> input_;
  std::vector<Memory> output_;
  std::vector<float> cosine_;
  std::vector<float> sine_;
};

template <typename Storage>
void expect_rotations(kernels::DType dtype) {
  for (const std::int64_t half : {1, 3, 6, 32, 33}) {
    for (const std::int64_t offset : {0, 1}) {
      SCOPED_TRACE(testing::Message() << half << ' ' << offset);
      Rotated<Storage>(50, half, 0, offset).expect_rotation(dtype, false);
      Rotated<Storage>(7, half, 2, offset).expect_rotation(dtype, true);
    }
  }
}

TEST(CudaElements, PairsAreRotatedByTheAnglesOfTheirRow) {
  expect_rotations<kernels::PlainStorage<float>>(kernels::DType::kFloat32);
  expect_rotations<kernels::BFloat16Storage>(kernels::DType::kBFloat16);
  expect_rotations<kernels::Float16Storage>(kernels::DType::kFloat16);
}

}  // namespace
}  // namespace weft::test
