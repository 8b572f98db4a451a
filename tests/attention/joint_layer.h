// SPDX-License-Identifier: Apache-2.0
// One attention layer of a fixture, rebuilt from Weft's pieces: its projections around the operator on a chosen route,
// compared with what transformers computed, forwards and backwards, where the tokens are not padding.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "support/torch_fixture.h"
#include "weft/attention/attention.h"

namespace weft::attention {

/// How the operator is computed: without a path, by the dense oracle.
struct Route {
  const char* name;
  std::optional<Path> path;
  at::ScalarType dtype = at::kDouble;
  pattern::Tile tile = {};
};

inline std::ostream& operator<<(std::ostream& stream, const Route& route) { return stream << route.name; }

/// Every implementation, and tiles that divide neither the lengths nor the patterns' blocks.
inline const std::vector<Route> kRoutes = {
    {"oracle", {}, at::kDouble, {}},
    {"portable", Path::kPortable, at::kDouble, {}},
    {"portable_small_tile", Path::kPortable, at::kDouble, {7, 8}},
    {"portable_float32", Path::kPortable, at::kFloat, {16, 32}},
    {"scalar", Path::kScalar, at::kDouble, {}},
    {"scalar_small_tile", Path::kScalar, at::kDouble, {5, 16}},
    {"scalar_float32", Path::kScalar, at::kFloat, {16, 32}},
    {"auto_float32", Path::kAuto, at::kFloat, {}},
};

inline std::string route_name(const ::testing::TestParamInfo<Route>& route) { return route.param.name; }

class JointLayer {
 public:
  JointLayer(const std::string& fixture, const std::vector<std::string>& projections, const Route& route)
      : fixture_(fixture), route_(route), heads_(fixture_.integer("heads")) {
    load("hidden_states");
    for (const std::string& projection : projections) {
      load(projection + ".weight");
      load(projection + ".bias");
    }
    options_.path = route.path.value_or(Path::kAuto);
    options_.key_keep = fixture_.tensor("key_keep");
  }

  const test::Fixture& fixture() const { return fixture_; }
  const at::Tensor& leaf(const std::string& name) const { return leaves_.at(name); }
  std::int64_t heads() const { return heads_; }
  AttentionOptions& options() { return options_; }

  pattern::Site site() const {
    pattern::Site result;
    result.query_length = result.key_length = leaf("hidden_states").size(1);
    result.heads = heads_;
    return result;
  }

  /// [B, H, N, D]
  at::Tensor projected(const std::string& name) const {
    const at::Tensor y = at::linear(leaf("hidden_states"), leaf(name + ".weight"), leaf(name + ".bias"));
    return y.view({y.size(0), y.size(1), heads_, -1}).transpose(1, 2);
  }

  at::Tensor attend(const pattern::Pattern& pattern, const pattern::Site& site,
                    const std::vector<pattern::RowBinding>& rows = {}) const {
    const at::Tensor query = projected("query"), key = projected("key"), value = projected("value");
    if (!route_.path) {
      return dense_oracle(query, key, value, {pattern, site, rows}, options_);
    }
    const AttentionResult result =
        attention(query, key, value, cached_layout(pattern, site, route_.tile, rows), options_);
    if (*route_.path != Path::kAuto) {
      EXPECT_EQ(result.path, *route_.path);
    }
    return result.output;
  }

  /// Compares the layer's output [B, H, N, D], and every gradient that the fixture holds, with what transformers
  /// computed.
  void expect_equal(const at::Tensor& output, double tolerance) const {
    const at::Tensor keep = fixture_.tensor("key_keep");
    const at::Tensor merged = output.transpose(1, 2).reshape(fixture_.tensor("output").sizes());
    EXPECT_LT(test::largest_difference(merged, fixture_.tensor("output"), keep), tolerance);
    if (!fixture_.has("output_gradient")) {
      return;
    }
    merged.backward(fixture_.tensor("output_gradient").to(merged.scalar_type()));
    for (const auto& [name, leaf] : leaves_) {
      if (fixture_.has(name + "_gradient")) {
        EXPECT_LT(test::largest_difference(leaf.grad(), fixture_.tensor(name + "_gradient")), 10 * tolerance) << name;
      }
    }
  }

 private:
  void load(const std::string& name) { leaves_[name] = fixture_.tensor(name).to(route_.dtype).set_requires_grad(true); }

  test::Fixture fixture_;
  Route route_;
  std::int64_t heads_;
  AttentionOptions options_;
  std::map<std::string, at::Tensor> leaves_;
};

}  // namespace weft::attention
