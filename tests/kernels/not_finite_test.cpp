// SPDX-License-Identifier: Apache-2.0
// Which results are not finite where inputs are not: every kernel against the rules of docs/kernel.md, entry by entry,
// and whatever stays finite against the same call in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kernels/exact_case.h"
#include "kernels/kernel_case.h"
#include "kernels/kernel_variants.h"
#include "support/thread_parallel.h"
#include "weft/kernels/rows.h"

namespace weft::test {
namespace {

using kernels::DType;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class NotFinite : public ::testing::TestWithParam<KernelVariant> {
 protected:
  void SetUp() override {
    if (!kernels::is_available(GetParam().isa)) {
      GTEST_SKIP() << "this machine has no " << kernels::to_string(GetParam().isa);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(, NotFinite, ::testing::ValuesIn(kernel_variants()),
                         [](const auto& instance) { return instance.param.name; });

// The entries of a [batch, heads, rows, columns] array that are not finite.
class Entries {
 public:
  explicit Entries(const std::array<std::int64_t, 4>& sizes)
      : sizes_(sizes), lost_(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]), 0) {}
  template <typename Array>
  Entries(Array& array, const std::array<std::int64_t, 4>& sizes) : Entries(sizes) {
    const std::vector<double> values = array.values();
    std::transform(values.begin(), values.end(), lost_.begin(), [](double value) { return !std::isfinite(value); });
  }

  std::uint8_t& at(const kernels::RowIndex& row, std::int64_t column) { return lost_[index(row, column)]; }
  bool any(const kernels::RowIndex& row) const {
    const auto begin = lost_.begin() + static_cast<std::ptrdiff_t>(index(row, 0));
    return std::find(begin, begin + sizes_[3], 1) != begin + sizes_[3];
  }
  /// Takes over the entries of a row of as many columns.
  void join(const kernels::RowIndex& row, const Entries& other, const kernels::RowIndex& from) {
    for (std::int64_t column = 0; column < sizes_[3]; ++column) {
      at(row, column) |= other.lost_[other.index(from, column)];
    }
  }
  void fill(const kernels::RowIndex& row) {
    for (std::int64_t column = 0; column < sizes_[3]; ++column) {
      at(row, column) = 1;
    }
  }
  const std::array<std::int64_t, 4>& sizes() const { return sizes_; }

 private:
  std::size_t index(const kernels::RowIndex& row, std::int64_t column) const {
    return static_cast<std::size_t>(((row.batch * sizes_[1] + row.head) * sizes_[2] + row.row) * sizes_[3] + column);
  }

  std::array<std::int64_t, 4> sizes_;
  std::vector<std::uint8_t> lost_;
};

// The rules, by the inputs alone.
template <typename Case>
class Rules {
 public:
  explicit Rules(Case& call)
      : output(of_queries(call.shape, call.shape.value_dim)),
        log_sum_exp(of_queries(call.shape, 1)),
        empty(of_queries(call.shape, 1)),
        query_gradient(of_queries(call.shape, call.shape.head_dim)),
        key_gradient(of_keys(call.shape, call.shape.head_dim)),
        value_gradient(of_keys(call.shape, call.shape.value_dim)),
        call_(call),
        query_(call.query, of_queries(call.shape, call.shape.head_dim)),
        key_(call.key, of_keys(call.shape, call.shape.head_dim)),
        value_(call.value, of_keys(call.shape, call.shape.value_dim)),
        output_gradient_(call.output_gradient, of_queries(call.shape, call.shape.value_dim)) {
    const Shape& shape = call.shape;
    for (std::int64_t item = 0; item < shape.batch * shape.heads * shape.query_length; ++item) {
      const std::int64_t row = item / shape.query_length;
      follow({row / shape.heads, row % shape.heads, item % shape.query_length});
    }
  }

  Entries output, log_sum_exp, empty, query_gradient, key_gradient, value_gradient;

 private:
  static std::array<std::int64_t, 4> of_queries(const Shape& shape, std::int64_t columns) {
    return {shape.batch, shape.heads, shape.query_length, columns};
  }
  static std::array<std::int64_t, 4> of_keys(const Shape& shape, std::int64_t columns) {
    return {shape.batch, shape.key_heads, shape.key_length, columns};
  }

  // One row along its edges.
  void follow(const kernels::RowIndex& row) {
    std::vector<kernels::RowIndex> seen;
    for (std::int64_t key = 0; key < call_.shape.key_length; ++key) {
      if (call_.edges(row.batch, row.head, row.row, key) > 0) {
        seen.push_back({row.batch, call_.key_head(row.head), key});
      }
    }
    if (seen.empty()) {
      empty.fill(row);
      return;
    }
    bool lost = query_.any(row);
    for (const kernels::RowIndex& key : seen) {
      lost = lost || key_.any(key);
      output.join(row, value_, key);
    }
    if (lost) {
      log_sum_exp.fill(row);
      output.fill(row);
    }
    const bool spoiled = output.any(row) || output_gradient_.any(row);
    if (spoiled) {
      query_gradient.fill(row);
    }
    for (const kernels::RowIndex& key : seen) {
      if (spoiled) {
        key_gradient.fill(key);
      }
      if (lost) {
        value_gradient.fill(key);
      }
      value_gradient.join(key, output_gradient_, row);
    }
  }

  Case& call_;
  Entries query_, key_, value_, output_gradient_;
};

// What is finite, and where that is expected the values too.
template <typename Array, typename Exact>
void expect_entries(const char* name, Array& found, Exact& exact, Entries& lost) {
  double scale = 1e-3;
  for (const double entry : exact.values()) {
    scale = std::isfinite(entry) ? std::max(scale, std::abs(entry)) : scale;
  }
  const auto& sizes = lost.sizes();
  for (std::int64_t item = 0; item < sizes[0] * sizes[1] * sizes[2] * sizes[3]; ++item) {
    const std::int64_t column = item % sizes[3];
    const std::int64_t head = item / (sizes[3] * sizes[2]);
    const kernels::RowIndex row{head / sizes[1], head % sizes[1], item / sizes[3] % sizes[2]};
    const double entry = found.get(row.batch, row.head, row.row, column);
    ASSERT_EQ(std::isfinite(entry), lost.at(row, column) == 0)
        << name << " [" << row.batch << ", " << row.head << ", " << row.row << ", " << column << "] = " << entry;
    if (std::isfinite(entry)) {
      ASSERT_NEAR(entry, exact.get(row.batch, row.head, row.row, column), 0.03 * scale) << name << " row " << row.row;
    }
  }
}

template <typename Case>
void expect_rules(Case& call, const ParallelFor& parallel) {
  Float64Case exact = exact_case(call);
  exact.forward();
  exact.backward();
  call.forward(parallel);
  call.backward(parallel);
  Rules<Case> rules(call);
  expect_entries("output", call.output, exact.output, rules.output);
  expect_entries("dQ", call.query_gradient, exact.query_gradient, rules.query_gradient);
  expect_entries("dK", call.key_gradient, exact.key_gradient, rules.key_gradient);
  expect_entries("dV", call.value_gradient, exact.value_gradient, rules.value_gradient);
  const Shape& shape = call.shape;
  for (std::int64_t item = 0; item < shape.batch * shape.heads * shape.query_length; ++item) {
    const std::int64_t head = item / shape.query_length;
    const kernels::RowIndex row{head / shape.heads, head % shape.heads, item % shape.query_length};
    const auto found = static_cast<double>(call.log_sum_exp[static_cast<std::size_t>(item)]);
    ASSERT_EQ(std::isnan(found), rules.log_sum_exp.any(row)) << "log_sum_exp " << item;
    ASSERT_EQ(found == -kInfinite, rules.empty.any(row)) << "log_sum_exp " << item;
  }
}

int causal_edges(std::int64_t, std::int64_t query, std::int64_t key) { return key <= query ? 1 : 0; }
int banded_edges(std::int64_t head, std::int64_t query, std::int64_t key) {
  return query % 17 != 3 && std::abs(query - key) < 20 + 5 * head ? 1 : 0;
}

// A few numbers of query, key, value and output gradient are NaN or infinite: which, the seed says.
template <typename Case>
void expect_rules_with_poison(std::uint64_t seed, DType dtype, const KernelVariant& variant) {
  SCOPED_TRACE(seed);
  if (variant.is_slow && (seed % 5 != 3 || seed > 13)) {
    return;
  }
  const Multiplicity edges[] = {causal_edges, banded_edges, mixed_edges};
  constexpr double kPoison[] = {kNaN, kInfinite, -kInfinite};
  constexpr std::int64_t kDims[] = {16, 20, 64};
  std::mt19937_64 engine(seed);
  const auto draw = [&engine](std::int64_t count) {
    return static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(count));
  };
  const std::int32_t queries = seed % 5 < 2 ? 1 : 64;  // a block, as a decoded token has it
  const Shape shape{2, 4, 2, 130, 130, kDims[draw(3)], kDims[draw(3)], {queries, 64}};
  Case call(shape, edges[seed % 3], seed, dtype);
  variant.use_for(call);
  for (std::int64_t key = 0; key < shape.batch * shape.key_length && seed % 2 == 1; ++key) {
    call.keep.push_back(key % 7 == 2 || key > 230 ? 0 : 1);
  }
  if (seed % 4 == 3) {
    call.dropout = {0.2F, seed, 0};
  }
  if (seed % 5 > 2) {
    call.draw_relative(seed);
  }
  if (seed % 7 > 4) {
    call.draw_positions(seed);
  }
  const auto spoil = [&](auto& array, std::int64_t heads, std::int64_t columns) {
    for (std::int64_t times = draw(3); times > 0; --times) {
      array.set(draw(2), draw(heads), draw(130), draw(columns), kPoison[draw(3)]);
    }
  };
  spoil(call.query, shape.heads, shape.head_dim);
  spoil(call.key, shape.key_heads, shape.head_dim);
  spoil(call.value, shape.key_heads, shape.value_dim);
  spoil(call.output_gradient, shape.heads, shape.value_dim);
  expect_rules(call, seed % 2 == 0 ? kSerial : kThreadParallel<3>);
}

TEST_P(NotFinite, FollowsTheRulesInFloat32) {
  for (std::uint64_t seed = 0; seed < (WEFT_SANITIZED ? 6 : 24); ++seed) {
    expect_rules_with_poison<Float32Case>(seed, DType::kFloat32, GetParam());
  }
}

TEST_P(NotFinite, FollowsTheRulesInBFloat16) {
  for (std::uint64_t seed = 0; seed < (WEFT_SANITIZED ? 3 : 12); ++seed) {
    expect_rules_with_poison<BFloat16Case>(seed, DType::kBFloat16, GetParam());
  }
}

TEST_P(NotFinite, EveryNumberMayBeNaN) {
  Float32Case call({1, 1, 1, 70, 70, 16, 16, {64, 64}}, causal_edges, 1, DType::kFloat32);
  GetParam().use_for(call);
  for (auto* array : {&call.query, &call.key, &call.value, &call.output_gradient}) {
    array->visit([](float& entry) { entry = std::numeric_limits<float>::quiet_NaN(); });
  }
  expect_rules(call, kSerial);
}

std::int64_t rows_with_nan(StridedArray<kernels::PlainStorage<float>>& array, std::int64_t rows, std::int64_t columns) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    bool has_nan = false;
    for (std::int64_t column = 0; column < columns; ++column) {
      has_nan = has_nan || !std::isfinite(array.get(0, 0, row, column));
    }
    count += has_nan ? 1 : 0;
  }
  return count;
}

// One causal block of 64 queries and keys: what a product over all pairs would carry to keys that nobody sees.
TEST_P(NotFinite, CausalGradientsStayOnTheirEdges) {
  const auto causal = [] { return Float32Case({1, 1, 1, 64, 64, 16, 16, {64, 64}}, causal_edges, 2, DType::kFloat32); };
  Float32Case query = causal();
  GetParam().use_for(query);
  query.query.set(0, 0, 0, 0, kNaN);
  query.forward();
  query.backward();
  EXPECT_EQ(rows_with_nan(query.key_gradient, 64, 16), 1);
  EXPECT_EQ(rows_with_nan(query.value_gradient, 64, 16), 1);
  Float32Case gradient = causal();
  GetParam().use_for(gradient);
  gradient.output_gradient.set(0, 0, 5, 0, kInfinite);
  gradient.forward();
  gradient.backward();
  EXPECT_EQ(rows_with_nan(gradient.value_gradient, 64, 16), 6);
  EXPECT_EQ(rows_with_nan(gradient.value_gradient, 64, 1), 6);
  EXPECT_TRUE(std::isfinite(gradient.value_gradient.get(0, 0, 2, 1)));
  Float32Case value = causal();
  GetParam().use_for(value);
  value.value.set(0, 0, 63, 3, kNaN);
  value.forward();
  value.backward();
  EXPECT_EQ(rows_with_nan(value.output, 64, 16), 1);
  EXPECT_TRUE(std::isfinite(value.output.get(0, 0, 63, 2)));
  EXPECT_EQ(rows_with_nan(value.value_gradient, 64, 16), 0);
  EXPECT_EQ(rows_with_nan(value.query_gradient, 64, 16), 1);
}

// Scores of -infinity alone have no softmax, whether infinity was put in or came of finite numbers.
TEST_P(NotFinite, ScoresOfMinusInfinityAloneAreNaN) {
  for (const double size : {kInfinite, 3e38}) {
    Float32Case call({1, 1, 1, 4, 4, 1, 2, {64, 64}}, causal_edges, 2, DType::kFloat32);
    GetParam().use_for(call);
    for (std::int64_t key = 0; key < 4; ++key) {
      call.key.set(0, 0, key, 0, -4.0 - static_cast<double>(key));
    }
    call.query.set(0, 0, 1, 0, size);
    call.forward();
    call.backward();
    EXPECT_TRUE(std::isnan(call.output.get(0, 0, 1, 0))) << size;
    EXPECT_TRUE(std::isnan(call.log_sum_exp[1])) << size;
    EXPECT_TRUE(std::isfinite(call.output.get(0, 0, 2, 0)));
    EXPECT_TRUE(std::isnan(call.key_gradient.get(0, 0, 1, 0)));
    EXPECT_TRUE(std::isfinite(call.key_gradient.get(0, 0, 2, 0)));
  }
}

}  // namespace
}  // namespace weft::test
