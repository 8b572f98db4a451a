// SPDX-License-Identifier: Apache-2.0
// The ring of a Star-Transformer in every instruction set of this machine against its equations in float64, forwards
// and backwards: numbers of columns that fill no vector, hidden rows, texts of one and two tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "weft/kernels/storage.h"
#include "weft/kernels/training/ring.h"

namespace weft::test {
namespace {

using RingNumbers = std::vector<double>;

struct RingShape {
  std::int64_t batch;
  std::int64_t length;
  std::int64_t heads;
  std::int64_t head_dim;
};

/// Rows of one kind and their gradient, as the kernel stores them.
template <class Storage>
struct RingTensor {
  using Memory = typename Storage::Memory;
  std::vector<Memory> rows;
  std::vector<Memory> gradient;
  RingNumbers exact;  ///< the gradient that is right

  RingTensor(std::int64_t count, std::mt19937_64& engine)
      : rows(static_cast<std::size_t>(count)), gradient(rows.size()), exact(rows.size()) {
    std::normal_distribution<float> normal;
    for (Memory& number : rows) {
      Storage::store(&number, normal(engine));
    }
  }
  double at(std::size_t place) const { return static_cast<double>(Storage::load(&rows[place])); }
};

template <class Storage>
class RingCase {
 public:
  RingCase(const RingShape& shape, bool with_hidden)
      : shape_(shape),
        width_(shape.heads * shape.head_dim),
        engine_(static_cast<std::uint64_t>(7 + shape.length)),
        queries(shape.batch * shape.length * width_, engine_),
        own(shape.batch * shape.length * 2 * width_, engine_),
        text(shape.batch * shape.length * 2 * width_, engine_),
        relay(shape.batch * 2 * width_, engine_),
        output(shape.batch * shape.length * width_, engine_),
        given_(output.rows) {
    if (with_hidden) {
      hidden_ = std::make_unique<bool[]>(static_cast<std::size_t>(shape.batch * shape.length));
      for (std::int64_t i = 0; i < shape.batch * shape.length; ++i) {
        hidden_[static_cast<std::size_t>(i)] = i % 3 == 1;
      }
    }
    find_exact();
  }

  void run(kernels::InstructionSet isa) {
    const kernels::RingCall call{
        .dtype = sizeof(typename Storage::Memory) == 2 ? kernels::DType::kBFloat16 : kernels::DType::kFloat32,
        .queries = queries.rows.data(),
        .own = own.rows.data(),
        .text = text.rows.data(),
        .relay = relay.rows.data(),
        .hidden = hidden_.get(),
        .length = shape_.length,
        .heads = shape_.heads,
        .head_dim = shape_.head_dim};
    const kernels::RingGradients gradients{.output = given_.data(),
                                           .queries = queries.gradient.data(),
                                           .own = own.gradient.data(),
                                           .text = text.gradient.data(),
                                           .relay = relay.gradient.data()};
    for (std::int64_t member = 0; member < shape_.batch; ++member) {
      kernels::ring_forward(isa, call, member, output.gradient.data());
      kernels::ring_backward(isa, call, member, gradients);
    }
  }

  /// The largest distance from what is right, as a share of the largest number.
  static double gap(const RingTensor<Storage>& tensor) {
    double gap = 0;
    double most = 1e-3;
    for (std::size_t i = 0; i < tensor.exact.size(); ++i) {
      const double found = static_cast<double>(Storage::load(&tensor.gradient[i]));
      gap = std::isnan(found) ? INFINITY : std::max(gap, std::abs(found - tensor.exact[i]));
      most = std::max(most, std::abs(tensor.exact[i]));
    }
    return gap / most;
  }

 private:
  RingShape shape_;
  std::int64_t width_;
  std::mt19937_64 engine_;

 public:
  RingTensor<Storage> queries;
  RingTensor<Storage> own;
  RingTensor<Storage> text;
  RingTensor<Storage> relay;
  RingTensor<Storage> output;  ///< in place of a gradient what the forward pass gives

 private:
  /// A key and the value behind it, or null beyond the ends and where a row is hidden.
  struct Seen {
    RingTensor<Storage>* tensor = nullptr;
    std::size_t first = 0;
  };

  Seen own_row(std::int64_t member, std::int64_t at) {
    const std::int64_t row = member * shape_.length + at;
    const bool is_there = at >= 0 && at < shape_.length && !(hidden_ && hidden_[static_cast<std::size_t>(row)]);
    return is_there ? Seen{&own, static_cast<std::size_t>(row * 2 * width_)} : Seen{};
  }

  void find_exact() {
    for (std::int64_t row = 0; row < shape_.batch * shape_.length; ++row) {
      const std::int64_t member = row / shape_.length;
      const std::int64_t at = row % shape_.length;
      const std::array seen{own_row(member, at - 1), own_row(member, at), own_row(member, at + 1),
                            Seen{&text, static_cast<std::size_t>(row * 2 * width_)},
                            Seen{&relay, static_cast<std::size_t>(member * 2 * width_)}};
      for (std::int64_t head = 0; head < shape_.heads; ++head) {
        add_head(static_cast<std::size_t>(row * width_), static_cast<std::size_t>(head * shape_.head_dim), seen);
      }
    }
  }

  void add_head(std::size_t row, std::size_t first, const std::array<Seen, 5>& seen) {
    const auto columns = static_cast<std::size_t>(shape_.head_dim);
    const auto width = static_cast<std::size_t>(width_);
    const double factor = 1 / std::sqrt(static_cast<double>(shape_.head_dim));
    const auto number = [&](const Seen& one, std::size_t place) {
      return one.tensor == nullptr ? 0.0 : one.tensor->at(one.first + place);
    };
    std::array<double, 5> weights{};
    std::array<double, 5> slopes{};
    double total = 0;
    for (std::size_t key = 0; key < 5; ++key) {
      double score = 0;
      for (std::size_t i = first; i < first + columns; ++i) {
        score += factor * queries.at(row + i) * number(seen[key], i);
        slopes[key] += of_given(row + i) * number(seen[key], width + i);
      }
      weights[key] = std::exp(score);
      total += weights[key];
    }
    double mean = 0;
    for (std::size_t key = 0; key < 5; ++key) {
      weights[key] /= total;
      mean += weights[key] * slopes[key];
    }
    for (std::size_t key = 0; key < 5; ++key) {
      const double slope = weights[key] * (slopes[key] - mean) * factor;
      for (std::size_t i = first; i < first + columns; ++i) {
        output.exact[row + i] += weights[key] * number(seen[key], width + i);
        queries.exact[row + i] += slope * number(seen[key], i);
        if (seen[key].tensor != nullptr) {
          seen[key].tensor->exact[seen[key].first + i] += slope * queries.at(row + i);
          seen[key].tensor->exact[seen[key].first + width + i] += weights[key] * of_given(row + i);
        }
      }
    }
  }

  double of_given(std::size_t place) const { return static_cast<double>(Storage::load(&given_[place])); }

  std::vector<typename Storage::Memory> given_;
  std::unique_ptr<bool[]> hidden_;
};

template <class Storage>
void expect_ring(kernels::InstructionSet isa, const RingShape& shape, bool with_hidden) {
  RingCase<Storage> made(shape, with_hidden);
  made.run(isa);
  // Half a part in 256 for bfloat16, some roundings for float32.
  const double bound = sizeof(typename Storage::Memory) == 2 ? 1.0 / 250 : 3e-6;
  const std::array tensors{&made.output, &made.queries, &made.own, &made.text, &made.relay};
  for (std::size_t which = 0; which < tensors.size(); ++which) {
    EXPECT_LT(RingCase<Storage>::gap(*tensors[which]), bound)
        << kernels::to_string(isa) << ", tensor " << which << ", length " << shape.length << ", head of "
        << shape.head_dim << ", hidden " << with_hidden;
  }
}

TEST(Ring, EqualsItsEquationsForwardsAndBackwards) {
  for (const kernels::InstructionSet isa : kernels::kInstructionSets) {
    if (!kernels::is_available(isa) || !kernels::takes_ring(isa, kernels::DType::kFloat32, 2, 8)) {
      continue;
    }
    for (const bool with_hidden : {false, true}) {
      for (const RingShape& shape : {RingShape{2, 1, 2, 8}, RingShape{1, 2, 3, 5}, RingShape{2, 7, 1, 33},
                                     RingShape{2, 70, 4, 32}, RingShape{1, 150, 17, 16}}) {
        expect_ring<kernels::PlainStorage<float>>(isa, shape, with_hidden);
        expect_ring<kernels::BFloat16Storage>(isa, shape, with_hidden);
      }
    }
  }
}

TEST(Ring, IsTakenUpToAWidth) {
  constexpr auto kGeneric = kernels::InstructionSet::kGeneric;
  EXPECT_TRUE(kernels::takes_ring(kGeneric, kernels::DType::kFloat32, 64, 16));
  EXPECT_TRUE(kernels::takes_ring(kGeneric, kernels::DType::kBFloat16, 12, 64));
  EXPECT_FALSE(kernels::takes_ring(kGeneric, kernels::DType::kFloat32, 65, 8));
  EXPECT_FALSE(kernels::takes_ring(kGeneric, kernels::DType::kFloat32, 4, 257));
  EXPECT_FALSE(kernels::takes_ring(kGeneric, kernels::DType::kFloat64, 2, 8));
  EXPECT_FALSE(kernels::takes_ring(kernels::InstructionSet::kScalar, kernels::DType::kFloat32, 2, 8));
}

}  // namespace
}  // namespace weft::test
