// SPDX-License-Identifier: Apache-2.0
// One call of the kernels for tests: random numbers in strided memory whose gaps hold NaN, the call itself, and a dense
// float64 answer to compare with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/hand_layout.h"
#include "weft/core/parallel.h"
#include "weft/kernels/arguments.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/fused.h"
#include "weft/kernels/fused/instances.h"
#include "weft/kernels/storage.h"

namespace weft::test {

struct Shape {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t key_heads = 1;
  std::int64_t query_length = 1;
  std::int64_t key_length = 1;
  std::int64_t head_dim = 1;
  std::int64_t value_dim = 1;
  pattern::Tile tile = {};
};

/// [batch, heads, rows, columns] laid out as [batch, rows, heads, columns + gap]; what is not an entry is NaN.
template <typename Storage>
class StridedArray {
 public:
  using Memory = typename Storage::Memory;
  StridedArray(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns)
      : batch_(batch),
        heads_(heads),
        rows_(rows),
        columns_(columns),
        memory_(static_cast<std::size_t>(batch * rows * heads * (columns + kGap)) + 1) {
    for (Memory& entry : memory_) {
      Storage::store(&entry, std::numeric_limits<typename Storage::Sum>::quiet_NaN());
    }
  }

  Memory& at(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t column) {
    return memory_[static_cast<std::size_t>(((batch * rows_ + row) * heads_ + head) * (columns_ + kGap) + column)];
  }
  double get(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t column) {
    return static_cast<double>(Storage::load(&at(batch, head, row, column)));
  }
  void set(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t column, double value) {
    Storage::store(&at(batch, head, row, column), static_cast<typename Storage::Sum>(value));
  }
  void fill_normal(std::mt19937_64& engine) {
    std::normal_distribution<double> normal;
    visit([&](Memory& entry) { Storage::store(&entry, static_cast<typename Storage::Sum>(normal(engine))); });
  }
  template <typename Visit>
  void visit(const Visit& work) {
    for (std::int64_t batch = 0; batch < batch_; ++batch) {
      for (std::int64_t head = 0; head < heads_; ++head) {
        for (std::int64_t row = 0; row < rows_; ++row) {
          for (std::int64_t column = 0; column < columns_; ++column) {
            work(at(batch, head, row, column));
          }
        }
      }
    }
  }
  static typename Storage::Sum load(const Memory& entry) { return Storage::load(&entry); }
  /// The entries in [batch, heads, rows, columns] order.
  std::vector<double> values() {
    std::vector<double> result;
    visit([&](Memory& entry) { result.push_back(static_cast<double>(Storage::load(&entry))); });
    return result;
  }

  kernels::Input input() { return {memory_.data(), strides(0), strides(1), strides(2)}; }
  kernels::Output output() { return {memory_.data(), strides(0), strides(1), strides(2)}; }

 private:
  static constexpr std::int64_t kGap = 3;
  std::int64_t strides(int dimension) const {
    const std::int64_t row = heads_ * (columns_ + kGap);
    return dimension == 0 ? rows_ * row : (dimension == 1 ? columns_ + kGap : row);
  }

  std::int64_t batch_;
  std::int64_t heads_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<Memory> memory_;
};

template <typename Storage>
struct KernelCase {
  using Array = StridedArray<Storage>;
  using Sum = typename Storage::Sum;

  KernelCase(const Shape& sizes, const Multiplicity& edges, std::uint64_t seed, kernels::DType type)
      : shape(sizes),
        multiplicity(edges),
        dtype(type),
        layout(hand_layout(sizes.tile, sizes.query_length, sizes.key_length, sizes.heads, edges)),
        transpose(pattern::transpose(layout)),
        query(sizes.batch, sizes.heads, sizes.query_length, sizes.head_dim),
        key(sizes.batch, sizes.key_heads, sizes.key_length, sizes.head_dim),
        value(sizes.batch, sizes.key_heads, sizes.key_length, sizes.value_dim),
        output(sizes.batch, sizes.heads, sizes.query_length, sizes.value_dim),
        output_gradient(sizes.batch, sizes.heads, sizes.query_length, sizes.value_dim),
        query_gradient(sizes.batch, sizes.heads, sizes.query_length, sizes.head_dim),
        key_gradient(sizes.batch, sizes.key_heads, sizes.key_length, sizes.head_dim),
        value_gradient(sizes.batch, sizes.key_heads, sizes.key_length, sizes.value_dim),
        relative_query(sizes.batch, sizes.heads, sizes.query_length, sizes.head_dim),
        relative_query_gradient(sizes.batch, sizes.heads, sizes.query_length, sizes.head_dim),
        log_sum_exp(static_cast<std::size_t>(sizes.batch * sizes.heads * sizes.query_length), Sum{-7}) {
    std::mt19937_64 engine(seed);
    for (Array* array : {&query, &key, &value, &output_gradient}) {
      array->fill_normal(engine);
    }
  }

  kernels::AttentionArguments arguments() {
    kernels::AttentionArguments result;
    result.dtype = dtype;
    result.batch = shape.batch;
    result.heads = shape.heads;
    result.key_heads = shape.key_heads;
    result.query_length = shape.query_length;
    result.key_length = shape.key_length;
    result.head_dim = shape.head_dim;
    result.value_dim = shape.value_dim;
    result.scale = scale;
    result.query = query.input();
    result.key = key.input();
    result.value = value.input();
    result.output = output.output();
    result.log_sum_exp = log_sum_exp.data();
    result.key_keep = keep.empty() ? nullptr : keep.data();
    result.layout = layout.view();
    result.dropout = dropout;
    result.distances = table();
    if (!query_positions.empty()) {
      result.positions = {query_positions.data(), key_positions.data(),
                          first_positions.empty() ? nullptr : first_positions.data(), causal, not_self};
    }
    if (relative_span > 0) {
      result.relative = {relative_query.input(),
                         {relative_rows.data(), 0, relative_span * shape.head_dim, shape.head_dim},
                         relative_span,
                         relative_zero,
                         query_offset};
    }
    return result;
  }

  /// A relative product of random numbers: R shorter than the call's distances, or longer.
  void draw_relative(std::uint64_t seed) {
    if (!knows_relative) {
      return;
    }
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    relative_span = static_cast<std::int64_t>(engine() % (seed % 3 == 0 ? 7 : 250)) + 1;
    relative_zero = static_cast<std::int64_t>(engine() % 160) - 5;
    relative_query.fill_normal(engine);
    relative_rows.resize(static_cast<std::size_t>(shape.heads * relative_span * shape.head_dim));
    for (auto& entry : relative_rows) {
      Storage::store(&entry, static_cast<Sum>(normal(engine)));
    }
  }
  std::int64_t relative_entry(std::int64_t row, std::int64_t position) const {
    return std::clamp<std::int64_t>(row + query_offset - position + relative_zero, 0, relative_span - 1);
  }
  typename Storage::Memory& relative_at(std::int64_t head, std::int64_t entry, std::int64_t column) {
    return relative_rows[static_cast<std::size_t>((head * relative_span + entry) * shape.head_dim + column)];
  }

  kernels::DistanceTable table() {
    if (distances.empty() && !slopes.empty()) {
      set_distances_of_slopes();
    }
    return {distances.empty() ? nullptr : distances.data(), distance_rows, span(), distance_zero, query_offset};
  }
  std::int64_t span() const { return static_cast<std::int64_t>(distances.size()) / (shape.heads * distance_rows); }

  /// ALiBi and BiALiBi as a table of all distances of the call.
  void set_distances_of_slopes() {
    const std::int64_t given = static_cast<std::int64_t>(slopes.size()) / shape.heads;
    distance_rows = given > 2 ? 2 : 1;
    distance_zero = shape.key_length - 1 - query_offset;
    for (std::int64_t row = 0; row < shape.heads * distance_rows; ++row) {
      for (std::int64_t entry = 0; entry < shape.query_length + shape.key_length - 1; ++entry) {
        const std::int64_t distance = entry - distance_zero;
        const std::int64_t side = distance < 0 && given > 1 ? 1 : 0;
        const std::int64_t slope = row % distance_rows == 1 ? 2 : side;
        distances.push_back(
            static_cast<Sum>(-std::abs(distance)) *
            static_cast<Sum>(slopes[static_cast<std::size_t>(slope * shape.heads + row / distance_rows)]));
      }
    }
  }
  /// A table of random scores: shorter than the call's distances, or longer.
  void draw_distances(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    distance_rows = static_cast<std::int64_t>(engine() % 2) + 1;
    const auto length = static_cast<std::int64_t>(engine() % 150) + 1;
    distance_zero = static_cast<std::int64_t>(engine() % 160) - 5;
    for (std::int64_t entry = 0; entry < shape.heads * distance_rows * length; ++entry) {
      distances.push_back(static_cast<Sum>(static_cast<float>(normal(engine))));
    }
  }

  /// Positions in a random order, some below 0, some queries at one. Queries have even ones, and of the keys those that
  /// patterns of tests count once: beside a score of -1e5 a log multiplicity has few digits in float32.
  void draw_positions(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    const auto draw = [&engine](std::int64_t count) {
      return static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(count));
    };
    causal = draw(3) > 0;
    not_self = draw(3) > 0;
    const bool has_first = draw(2) == 0;
    std::vector<std::int32_t> order(static_cast<std::size_t>(shape.key_length));
    for (std::int64_t row = 0; row < shape.batch * shape.key_heads; ++row) {
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), engine);
      for (std::int64_t key = 0; key < shape.key_length; ++key) {
        const std::int32_t position = 2 * order[static_cast<std::size_t>(key)] + (key % 3 == 0 ? 0 : 1);
        key_positions.push_back(draw(9) == 0 ? -1 - position : position);
      }
    }
    for (std::int64_t row = 0; row < shape.batch * shape.heads * shape.query_length; ++row) {
      query_positions.push_back(2 * draw(shape.key_length + 2) - 2);
      if (has_first) {
        first_positions.push_back(query_positions.back() - draw(shape.key_length + 9));
      }
    }
  }

  void forward(const ParallelFor& parallel = kSerial) {
    ASSERT_EQ(kernels::validate(arguments()), nullptr) << kernels::validate(arguments());
    ASSERT_EQ(own == nullptr ? kernels::fused_forward(isa, arguments(), parallel) : own->forward(arguments(), parallel),
              kernels::Status::kOk);
  }
  /// Where a backward pass puts its results; each call makes room anew.
  kernels::AttentionGradients gradients() {
    kernels::AttentionGradients gradients;
    gradients.output_gradient = output_gradient.input();
    gradients.query_gradient = query_gradient.output();
    gradients.key_gradient = key_gradient.output();
    gradients.value_gradient = value_gradient.output();
    gradients.transpose = transpose.view();
    if (relative_span > 0 && asks_distance_gradient) {
      relative_rows_gradient.assign(relative_rows.size(), Sum{-7});
      gradients.relative_query_gradient = relative_query_gradient.output();
      gradients.relative_rows_gradient = relative_rows_gradient.data();
    }
    distance_gradient.assign(asks_distance_gradient ? distances.size() : 0, Sum{-7});
    gradients.distance_gradient = distance_gradient.empty() ? nullptr : distance_gradient.data();
    return gradients;
  }
  void backward(const ParallelFor& parallel = kSerial) {
    const kernels::AttentionGradients results = gradients();
    ASSERT_EQ(own == nullptr ? kernels::fused_backward(isa, arguments(), results, parallel)
                             : own->backward(arguments(), results, parallel),
              kernels::Status::kOk);
  }

  bool keeps(std::int64_t batch, std::int64_t position) const {
    return keep.empty() || keep[static_cast<std::size_t>(batch * shape.key_length + position)] != 0;
  }
  /// How often a row attends to a key: what the layout says, where padding and positions let it.
  int edges(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t position) const {
    return keeps(batch, position) && is_in_sight(batch, head, row, position) ? multiplicity(head, row, position) : 0;
  }
  std::size_t query_at(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return static_cast<std::size_t>((batch * shape.heads + head) * shape.query_length + row);
  }
  std::int32_t position_of(std::int64_t batch, std::int64_t head, std::int64_t key) const {
    return key_positions[static_cast<std::size_t>((batch * shape.key_heads + key_head(head)) * shape.key_length + key)];
  }
  bool is_in_sight(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) const {
    if (query_positions.empty()) {
      return true;
    }
    const std::size_t query = query_at(batch, head, row);
    const std::int32_t position = position_of(batch, head, key);
    const bool is_behind = !first_positions.empty() && position < first_positions[query];
    return position >= 0 && !is_behind && !(causal && position > query_positions[query]);
  }
  std::int64_t key_head(std::int64_t head) const { return head / (shape.heads / shape.key_heads); }
  double score(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t position) {
    if (not_self && !query_positions.empty() &&
        position_of(batch, head, position) == query_positions[query_at(batch, head, row)]) {
      return -1e5;
    }
    double sum = 0;
    for (std::int64_t column = 0; column < shape.head_dim; ++column) {
      sum += query.get(batch, head, row, column) * key.get(batch, key_head(head), position, column);
      if (relative_span > 0) {
        sum += relative_query.get(batch, head, row, column) *
               static_cast<double>(Storage::load(&relative_at(head, relative_entry(row, position), column)));
      }
    }
    return scale * sum + distance_bias(head, row, position);
  }
  /// ALiBi and BiALiBi by their definition, or the entry of a table.
  double distance_bias(std::int64_t head, std::int64_t row, std::int64_t position) const {
    const std::int64_t query_position = row + query_offset;
    if (slopes.empty() && !distances.empty()) {
      const std::int64_t entry = std::clamp<std::int64_t>(query_position - position + distance_zero, 0, span() - 1);
      const bool is_second = distance_rows == 2 && (query_position == 0 || position == 0) && query_position != position;
      const std::int64_t of_head = head * distance_rows + (is_second ? 1 : 0);
      return static_cast<double>(distances[static_cast<std::size_t>(of_head * span() + entry)]);
    }
    if (slopes.empty() || query_position == position) {
      return 0;
    }
    const std::int64_t rows = static_cast<std::int64_t>(slopes.size()) / shape.heads;
    const auto slope = [&](std::int64_t at) { return slopes[static_cast<std::size_t>(at * shape.heads + head)]; };
    const bool is_first = rows > 2 && (query_position == 0 || position == 0);
    const bool is_behind = rows > 1 && position > query_position;
    return -static_cast<double>(std::abs(query_position - position)) * slope(is_first ? 2 : (is_behind ? 1 : 0));
  }
  /// Undropped probabilities of one row, by the definition; all zero for a row without edges.
  std::vector<double> probabilities(std::int64_t batch, std::int64_t head, std::int64_t row) {
    std::vector<double> result(static_cast<std::size_t>(shape.key_length), 0.0);
    double total = 0;
    double greatest = -std::numeric_limits<double>::max();
    for (std::int64_t position = 0; position < shape.key_length; ++position) {
      greatest =
          edges(batch, head, row, position) == 0 ? greatest : std::max(greatest, score(batch, head, row, position));
    }
    for (std::int64_t position = 0; position < shape.key_length; ++position) {
      const int times = edges(batch, head, row, position);
      result[static_cast<std::size_t>(position)] =
          times == 0 ? 0.0 : times * std::exp(score(batch, head, row, position) - greatest);
      total += result[static_cast<std::size_t>(position)];
    }
    for (double& probability : result) {
      probability = total == 0 ? 0 : probability / total;
    }
    return result;
  }
  /// The answer for one row: averages of the values.
  std::vector<double> expected_row(std::int64_t batch, std::int64_t head, std::int64_t row) {
    const std::vector<double> weights = probabilities(batch, head, row);
    kernels::DropoutRow draws(dropout, batch, head, row);
    std::vector<double> result(static_cast<std::size_t>(shape.value_dim), 0.0);
    for (std::int64_t position = 0; position < shape.key_length; ++position) {
      const double weight = weights[static_cast<std::size_t>(position)] * draws.multiplier(position);
      for (std::int64_t column = 0; column < shape.value_dim && weight != 0; ++column) {
        result[static_cast<std::size_t>(column)] += weight * value.get(batch, key_head(head), position, column);
      }
    }
    return result;
  }
  /// sum(output * output_gradient) by the definition: the loss whose gradients backward() gives.
  double loss() {
    double sum = 0;
    for (std::int64_t item = 0; item < shape.batch * shape.heads * shape.query_length; ++item) {
      const std::int64_t row = item % shape.query_length;
      const std::int64_t head = item / shape.query_length % shape.heads;
      const std::int64_t batch = item / shape.query_length / shape.heads;
      const std::vector<double> outputs = expected_row(batch, head, row);
      for (std::int64_t column = 0; column < shape.value_dim; ++column) {
        sum += outputs[static_cast<std::size_t>(column)] * output_gradient.get(batch, head, row, column);
      }
    }
    return sum;
  }

  Shape shape;
  Multiplicity multiplicity;
  kernels::DType dtype;
  kernels::InstructionSet isa = kernels::InstructionSet::kScalar;  ///< the plain kernels
  const kernels::FusedKernels* own = nullptr;                      ///< instead of those of `isa`
  double scale = 0.5;
  kernels::Dropout dropout;
  std::vector<float> slopes;   ///< [0 to 3][heads]
  std::vector<Sum> distances;  ///< [heads][distance_rows][span()]; those of `slopes` where only these are given
  std::int64_t distance_rows = 1;
  std::int64_t distance_zero = 0;
  bool asks_distance_gradient = true;
  std::vector<Sum> distance_gradient;
  std::int64_t query_offset = 0;
  bool knows_relative = true;      ///< whether the kernel has a relative product
  std::int64_t relative_span = 0;  ///< 0: no relative product
  std::int64_t relative_zero = 0;
  std::vector<typename Storage::Memory> relative_rows;  ///< [heads][relative_span][head_dim]
  std::vector<Sum> relative_rows_gradient;
  std::vector<std::int32_t> query_positions;  ///< [batch][heads][query_length], or empty
  std::vector<std::int32_t> key_positions;    ///< [batch][key_heads][key_length]
  std::vector<std::int32_t> first_positions;  ///< as query_positions
  bool causal = false;
  bool not_self = false;
  std::vector<std::uint8_t> keep;
  pattern::BlockLayout layout;
  pattern::LayoutTranspose transpose;
  Array query;
  Array key;
  Array value;
  Array output;
  Array output_gradient;
  Array query_gradient;
  Array key_gradient;
  Array value_gradient;
  Array relative_query;
  Array relative_query_gradient;
  std::vector<Sum> log_sum_exp;
};

using Float64Case = KernelCase<kernels::PlainStorage<double>>;
using Float32Case = KernelCase<kernels::PlainStorage<float>>;
using BFloat16Case = KernelCase<kernels::BFloat16Storage>;
using Float16Case = KernelCase<kernels::Float16Storage>;

/// Windows, causal triangles, scattered edges and weights, some rows of which are empty.
inline int mixed_edges(std::int64_t head, std::int64_t query, std::int64_t key) {
  if (query % 11 == 5) {
    return 0;
  }
  if (head % 2 == 0) {
    return key <= query && query - key < 9 ? 1 : 0;
  }
  return (query * 7 + key * 3) % 5 == 0 ? 1 + static_cast<int>(key % 3) : (key < 2 ? 1 : 0);
}

}  // namespace weft::test
