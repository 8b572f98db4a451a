// SPDX-License-Identifier: Apache-2.0
// A random call of the operator: pattern, lengths, heads, padding, bound positions, strides; from a seed that a failing
// test prints.
#pragma once

#include <string>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include "pattern/random_pattern.h"
#include "weft/attention/attention.h"
#include "weft/core/error.h"

namespace weft::test {

struct RandomCall {
  explicit RandomCall(std::uint64_t seed)
      : draw(seed),
        expression(draw.expression(static_cast<int>(draw.between(0, 2)))),
        pattern(pattern::Pattern::parse(expression)) {
    draw_site();
    draw_rows();
    draw_tensors(seed);
    draw_options(seed);
  }

  attention::LayoutPtr layout() const {
    return std::make_shared<const attention::Layout>(pattern::compile(pattern, site, tile, rows), expression);
  }
  at::Tensor oracle(const std::vector<at::Tensor>& tensors, const attention::AttentionOptions& with) const {
    return attention::dense_oracle(tensors[0], tensors[1], tensors[2], {pattern, site, rows}, with);
  }
  std::string name() const {
    return concat(expression, " B=", batch, " Q=", site.query_length, " K=", site.key_length,
                  " offset=", site.query_offset, " H_kv=", key_heads, " D=", query.size(3), " tile=", tile.query, "x",
                  tile.key, " padded=", options.key_keep.defined(), " dropout=", options.dropout,
                  " slopes=", options.slopes.defined(), " distances=", options.distances.scores.defined(),
                  " positions=", options.positions.queries.defined(), options.positions.first.defined(),
                  options.positions.causal, options.positions.not_self);
  }

  RandomPattern draw;
  std::string expression;
  pattern::Pattern pattern;
  pattern::Site site;
  pattern::Tile tile;
  std::int64_t batch = 1;
  std::int64_t key_heads = 1;
  std::vector<std::int64_t> input;
  std::vector<pattern::RowBinding> rows;
  attention::AttentionOptions options;
  at::Tensor query;  // float64, as are the others
  at::Tensor key;
  at::Tensor value;

 private:
  // One in four is long, so that many cases stay cheap.
  std::int64_t length() { return draw.chance(25) ? draw.between(100, 300) : draw.between(1, 99); }

  void draw_site() {
    site.query_length = length();
    site.key_length = draw.chance(50) ? site.query_length : length();
    const bool blocks = expression.find("block") != std::string::npos;
    site.query_offset = draw.chance(60) ? 0 : (blocks ? 3600 * draw.between(0, 1) : draw.between(0, site.key_length));
    site.heads = 4;
    site.layer = 3;
    constexpr pattern::Tile kTiles[] = {{64, 64}, {64, 64}, {1, 64}, {16, 8}, {7, 32}, {128, 128}};
    tile = kTiles[draw.between(0, 5)];
    batch = draw.between(1, 3);
    key_heads = std::int64_t{1} << draw.between(0, 2);
  }

  void draw_rows() {
    for (std::int64_t row = 0; row < batch && draw.chance(100); ++row) {
      pattern::RowBinding binding;
      binding.input = positions();
      if (expression.find("block") == std::string::npos && draw.chance(20)) {
        binding.query_length = draw.between(0, site.query_length);
        binding.key_length =
            draw.between(*std::max_element(binding.input.begin(), binding.input.end()) + 1, site.key_length);
      }
      rows.push_back(std::move(binding));
    }
    if (draw.chance(40)) {
      rows.clear();
      input = positions();
      std::sort(input.begin(), input.end());
      site.input = input;
    }
  }

  std::vector<std::int64_t> positions() {
    std::vector<std::int64_t> result;
    for (std::int64_t count = draw.between(1, 3); count > 0; --count) {
      result.push_back(draw.between(0, site.key_length - 1));
    }
    return result;
  }

  void draw_tensors(std::uint64_t seed) {
    constexpr std::int64_t kHeadDims[] = {1, 7, 16, 40, 64};
    const std::int64_t head_dim = kHeadDims[draw.between(0, 4)];
    const std::int64_t value_dim = draw.chance(80) ? head_dim : kHeadDims[draw.between(0, 4)];
    at::manual_seed(seed);
    query = tensor(site.heads, site.query_length, head_dim);
    key = tensor(key_heads, site.key_length, head_dim);
    value = tensor(key_heads, site.key_length, value_dim);
  }

  at::Tensor tensor(std::int64_t heads, std::int64_t length, std::int64_t columns) {
    if (draw.chance(50)) {
      return at::randn({batch, length, heads, columns}, at::kDouble).transpose(1, 2);
    }
    return at::randn({batch, heads, length, columns}, at::kDouble);
  }

  void draw_options(std::uint64_t seed) {
    if (draw.chance(30)) {
      options.key_keep = at::rand({batch, site.key_length}) < 0.7;
      if (draw.chance(30)) {
        options.key_keep[0].fill_(false);
      }
    }
    if (draw.chance(20)) {
      options.dropout = 0.3;
      options.seed = seed;
    }
    if (draw.chance(20)) {
      options.scale = 0.3;
    }
    if (draw.chance(25)) {
      options.slopes = at::rand({draw.between(1, 3), site.heads}, at::kDouble) / 10;
    } else if (draw.chance(25)) {
      const std::int64_t span = draw.between(1, 150);
      options.distances = {
          draw.chance(50) ? at::randn({site.heads, span}, at::kDouble) : at::randn({site.heads, 2, span}, at::kDouble),
          draw.between(-5, span + 5)};
    } else if (draw.chance(30)) {
      draw_positions();
    }
  }

  // Some keys are hidden, some queries stand at one position, some calls share positions between heads. No two keys do:
  // of a row that sees its own position alone, the log-sum-exp of more than one score of -1e5 has few digits in
  // float32.
  void draw_positions() {
    const auto random = [this](std::int64_t heads, std::int64_t length) {
      return at::rand({draw.chance(70) ? batch : 1, draw.chance(70) ? heads : 1, length}, at::kDouble);
    };
    const auto at_queries = [&] {
      return (random(site.heads, site.query_length) * (site.key_length + 6)).to(at::kInt) - 6;
    };
    options.positions.queries = at_queries();
    options.positions.keys =
        random(key_heads, site.key_length).argsort(std::int64_t{-1}).to(at::kInt) - site.key_length / 8;
    if (draw.chance(40)) {
      options.positions.first = at_queries();
    }
    options.positions.causal = draw.chance(60);
    options.positions.not_self = draw.chance(60);
  }
};

}  // namespace weft::test
