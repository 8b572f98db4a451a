// SPDX-License-Identifier: Apache-2.0
// Attention that knows distances over LibTorch's products: queries in chunks, scores computed again in the backward
// pass, so that memory follows the length and not its square. A chunk of n queries meets m keys at n + m - 1 distances:
// one product gives all of them, and a view with other strides puts each where its pair of query and key is.
#include "weft/attention/backends/portable/relative_products.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/attention/distance_table.h"
#include "weft/attention/tensors.h"
#include "weft/kernels/dropout.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kMostScores = std::int64_t{1} << 23;  // of a chunk, of either kind: 32 MB in float32
constexpr std::int64_t kMostQueries = 256;  // a taller chunk of a causal call computes more scores that nobody sees

/// Queries [begin, begin + count) and the keys [first_key, first_key + keys) that any of them sees.
struct Chunk {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t first_key;
  std::int64_t keys;
  std::int64_t distances() const { return count + keys - 1; }
};

/// A call with one head of keys for each head of queries, in the dtype of its sums.
struct Operands {
  explicit Operands(const RelativeCall& given)
      : call(given),
        batch(given.query.size(0)),
        heads(given.query.size(1)),
        scale(1.0 / std::sqrt(static_cast<double>(given.query.size(3)))),
        type(accumulation_type(given.query)),
        key(flat(given.key)),
        value(flat(given.value)),
        table(given.distances.to(type)),
        key_table(given.key_distances.defined() ? given.key_distances.to(type) : at::Tensor()),
        content_bias(given.content_bias.to(type).unsqueeze(1)),
        distance_bias(given.distance_bias.to(type).unsqueeze(1)),
        finite(all_finite({value})),
        finite_value(finite ? value : value.masked_fill(at::isfinite(value).logical_not(), 0.0)) {}

  /// [B, H or H_kv, N, C] -> [B H, N, C].
  at::Tensor flat(const at::Tensor& tensor) const {
    return repeat_key_heads(tensor, heads).to(type).reshape({batch * heads, tensor.size(2), tensor.size(3)});
  }

  const RelativeCall& call;
  std::int64_t batch;
  std::int64_t heads;
  double scale;
  at::ScalarType type;
  at::Tensor key;            // [B H, K, D]
  at::Tensor value;          // [B H, K, D_v]
  at::Tensor table;          // [H, S, D]
  at::Tensor key_table;      // [H, S, D], or undefined
  at::Tensor content_bias;   // [H, 1, D]
  at::Tensor distance_bias;  // [H, 1, D]
  bool finite;
  at::Tensor finite_value;
};

Chunk chunk_at(const Operands& all, std::int64_t begin) {
  const RelativeCall& call = all.call;
  const std::int64_t keys = call.key.size(2);
  const auto seen_from = [&](std::int64_t count) {
    const std::int64_t position = begin + call.query_offset;
    const std::int64_t first = call.left < 0 ? 0 : std::clamp<std::int64_t>(position - call.left, 0, keys);
    const std::int64_t end = call.causal ? std::clamp<std::int64_t>(position + count, first, keys) : keys;
    return Chunk{begin, count, first, end - first};
  };
  std::int64_t count = std::min(kMostQueries, call.query.size(2) - begin);
  while (count > 1 && all.batch * all.heads * count * (seen_from(count).distances()) > kMostScores) {
    count = (count + 1) / 2;
  }
  return seen_from(count);
}

/// Rows of R for the distances of a chunk, the farthest first: [distances].
at::Tensor rows_of(const Operands& all, const Chunk& chunk) {
  const std::int64_t farthest = chunk.begin + all.call.query_offset + chunk.count - 1 - chunk.first_key;
  const auto options = at::TensorOptions(all.table.device()).dtype(at::kLong);
  return (farthest - all.call.nearest - at::arange(chunk.distances(), options)).clamp_(0, all.table.size(1) - 1);
}

/// What a chunk multiplies.
struct Pair {
  at::Tensor content;   // (q + u) / sqrt(D) [B H, n, D]
  at::Tensor distance;  // (q + v) / sqrt(D) [H, B n, D]
  at::Tensor key;       // [B H, m, D]
  at::Tensor rows;      // [distances]
  at::Tensor table;     // those rows of R [H, distances, D]
};

Pair pair_of(const Operands& all, const Chunk& chunk) {
  const at::Tensor query = all.call.query.narrow(2, chunk.begin, chunk.count).to(all.type);
  const std::int64_t width = query.size(3);
  Pair pair;
  pair.content = ((query + all.content_bias) * all.scale).reshape({all.batch * all.heads, chunk.count, width});
  pair.distance = ((query + all.distance_bias) * all.scale).transpose(0, 1).reshape({all.heads, -1, width});
  pair.key = all.key.narrow(1, chunk.first_key, chunk.keys);
  pair.rows = rows_of(all, chunk);
  pair.table = all.table.index_select(1, pair.rows);
  return pair;
}

/// The view [H, B, n, m] of products by distance [H, B n, distances], the farthest first, in which entry (l, k) is that
/// of query l and key k, n - 1 - l + k from the farthest: the shift of the paper's appendix B as strides.
at::Tensor shifted(const at::Tensor& products, const Operands& all, const Chunk& chunk) {
  const std::int64_t distances = chunk.distances();
  const std::int64_t of_row = chunk.count * distances;
  return products.as_strided({all.heads, all.batch, chunk.count, chunk.keys},
                             {all.batch * of_row, of_row, distances - 1, 1}, chunk.count - 1);
}

/// Some keys of a chunk, no more of them than it has queries, so that their products by distance are at most twice as
/// many as their scores.
struct KeyTile {
  std::int64_t first;  // key of the chunk
  std::int64_t keys;   // w of them
  at::Tensor key;      // k / sqrt(D) [H, B w, D]
  at::Tensor rows;     // of R', the nearest distance first [n + w - 1]
  at::Tensor table;    // those rows [H, n + w - 1, D]
};

KeyTile tile_at(const Operands& all, const Chunk& chunk, std::int64_t first) {
  KeyTile tile{.first = first, .keys = std::min(chunk.count, chunk.keys - first)};
  const std::int64_t first_key = chunk.first_key + first;
  tile.key = (all.key.unflatten(0, {all.batch, all.heads}).narrow(2, first_key, tile.keys) * all.scale)
                 .transpose(0, 1)
                 .reshape({all.heads, all.batch * tile.keys, all.key.size(2)});
  const std::int64_t nearest = chunk.begin + all.call.query_offset - (first_key + tile.keys - 1);
  const auto options = at::TensorOptions(all.key.device()).dtype(at::kLong);
  tile.rows = (at::arange(chunk.count + tile.keys - 1, options) + (nearest - all.call.nearest))
                  .clamp_(0, all.key_table.size(1) - 1);
  tile.table = all.key_table.index_select(1, tile.rows);
  return tile;
}

/// The view [H, B, n, w] of products [H, B w, n + w - 1] of a tile, in which entry (l, k) is w - 1 - k + l from the
/// nearest.
at::Tensor by_queries(const at::Tensor& products, const Operands& all, const Chunk& chunk, const KeyTile& tile) {
  const std::int64_t distances = products.size(2);
  const std::int64_t of_batch = tile.keys * distances;
  return products.as_strided({all.heads, all.batch, chunk.count, tile.keys},
                             {all.batch * of_batch, of_batch, 1, distances - 1}, tile.keys - 1);
}

template <typename Each>
void each_tile(const Operands& all, const Chunk& chunk, const Each& each) {
  for (std::int64_t first = 0; all.key_table.defined() && first < chunk.keys; first += chunk.count) {
    each(tile_at(all, chunk, first));
  }
}

/// bool [1 or B, 1 or H, n, m], true where a query does not see a key; undefined where all see all.
at::Tensor hidden_pairs(const Operands& all, const Chunk& chunk) {
  const RelativeCall& call = all.call;
  const auto options = at::TensorOptions(all.key.device()).dtype(at::kLong);
  const std::int64_t first = chunk.begin + call.query_offset - chunk.first_key;
  const at::Tensor distance =
      at::arange(first, first + chunk.count, options).unsqueeze(1) - at::arange(chunk.keys, options).unsqueeze(0);
  at::Tensor hidden = call.causal ? distance < 0 : at::Tensor();
  if (call.left >= 0) {
    const at::Tensor far = distance > call.left;
    hidden = hidden.defined() ? hidden | far : far;
  }
  if (!call.reaches.empty()) {
    const at::Tensor beyond = distance.abs() > at::tensor(call.reaches, options).view({-1, 1, 1});  // [H, n, m]
    hidden = hidden.defined() ? hidden | beyond : beyond;
  }
  hidden = hidden.defined() ? hidden.view({1, -1, chunk.count, chunk.keys}) : hidden;
  if (call.keep.defined()) {
    const at::Tensor padded = call.keep.narrow(1, chunk.first_key, chunk.keys).logical_not().unsqueeze(1).unsqueeze(1);
    hidden = hidden.defined() ? hidden | padded : padded;
  }
  return hidden;
}

/// Of the queries [1, n] and the keys [1, m] of a chunk.
std::pair<at::Tensor, at::Tensor> chunk_positions(const Operands& all, const Chunk& chunk) {
  const auto options = at::TensorOptions(all.key.device()).dtype(at::kLong);
  const std::int64_t first = chunk.begin + all.call.query_offset;
  return {at::arange(first, first + chunk.count, options).unsqueeze(0),
          at::arange(chunk.first_key, chunk.first_key + chunk.keys, options).unsqueeze(0)};
}

/// What distances alone and distances with queries add, [B, H, n, m] beside `scores`: the term that the equations of
/// Vaswani et al. lack.
void add_distance_scores(const at::Tensor& scores, const Pair& pair, const Operands& all, const Chunk& chunk) {
  const at::Tensor products = at::bmm(pair.distance, pair.table.transpose(1, 2));
  scores.add_(shifted(products, all, chunk).transpose(0, 1));
  each_tile(all, chunk, [&](const KeyTile& tile) {
    const at::Tensor of_keys = at::bmm(tile.key, tile.table.transpose(1, 2));
    scores.narrow(3, tile.first, tile.keys).add_(by_queries(of_keys, all, chunk, tile).transpose(0, 1));
  });
  if (all.call.added.scores.defined()) {
    const auto [queries, keys] = chunk_positions(all, chunk);
    scores.add_(distance_scores(all.call.added, queries, keys));
  }
}

/// Softmax of a chunk [B, H, n, m], zeros in rows that see nothing.
at::Tensor chunk_probabilities(const Pair& pair, const Operands& all, const Chunk& chunk, const at::Tensor& hidden) {
  at::Tensor scores =
      at::bmm(pair.content, pair.key.transpose(1, 2)).view({all.batch, all.heads, chunk.count, chunk.keys});
  add_distance_scores(scores, pair, all, chunk);
  if (!hidden.defined()) {
    return at::softmax(scores, -1);
  }
  scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  return at::softmax(scores, -1).masked_fill_(hidden.all(-1, true), 0.0);
}

/// 0 or 1 / (1 - dropout) for each pair of a chunk [B, H, n, m]; undefined without dropout.
at::Tensor dropout_of(const Operands& all, const Chunk& chunk) {
  if (all.call.dropout <= 0) {
    return {};
  }
  const kernels::Dropout dropout{static_cast<float>(all.call.dropout), all.call.seed};
  at::Tensor mask = at::empty({all.batch, all.heads, chunk.count, chunk.keys}, at::kFloat);
  auto* const out = mask.mutable_data_ptr<float>();
  at::parallel_for(0, all.batch * all.heads * chunk.count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t head = row / chunk.count;
      kernels::DropoutRow draws(dropout, head / all.heads, head % all.heads, chunk.begin + row % chunk.count);
      for (std::int64_t key = 0; key < chunk.keys; ++key) {
        out[row * chunk.keys + key] = static_cast<float>(draws.multiplier(chunk.first_key + key));
      }
    }
  });
  return mask.to(all.key.device(), all.type);
}

/// Probabilities as rows [B H, n, m].
at::Tensor rows_view(const at::Tensor& mixed) { return mixed.view({-1, mixed.size(2), mixed.size(3)}); }

at::Tensor forward_chunk(const Operands& all, const Chunk& chunk) {
  const at::Tensor hidden = hidden_pairs(all, chunk);
  at::Tensor weights = chunk_probabilities(pair_of(all, chunk), all, chunk, hidden);
  const at::Tensor dropped = dropout_of(all, chunk);
  weights = rows_view(dropped.defined() ? weights * dropped : weights);
  at::Tensor mixed = at::bmm(weights, all.finite_value.narrow(1, chunk.first_key, chunk.keys));
  if (all.finite) {
    return mixed;
  }
  const at::Tensor bad =
      at::isfinite(all.value.narrow(1, chunk.first_key, chunk.keys)).logical_not().to(all.type);  // [B H, m, D_v]
  return mixed.masked_fill(at::bmm(weights.ne(0).to(all.type), bad) > 0, std::numeric_limits<double>::quiet_NaN());
}

/// Gradients in the dtype of the sums, in the layout of Operands.
struct GradientSums {
  explicit GradientSums(const Operands& all)
      : query(at::zeros(all.call.query.sizes(), all.key.options())),
        key(at::zeros_like(all.key)),
        value(at::zeros_like(all.value)),
        table(at::zeros_like(all.table)),
        content_bias(at::zeros_like(all.content_bias)),
        distance_bias(at::zeros_like(all.distance_bias)),
        added(all.call.added.scores.defined() ? at::zeros_like(all.call.added.scores) : at::Tensor()),
        key_table(all.key_table.defined() ? at::zeros_like(all.key_table) : at::Tensor()) {}
  at::Tensor query;  // [B, H, Q, D]
  at::Tensor key;
  at::Tensor value;
  at::Tensor table;
  at::Tensor content_bias;
  at::Tensor distance_bias;
  at::Tensor added;
  at::Tensor key_table;
};

/// Of scores [B, H, n, m], into keys and rows of R'.
void backward_tiles(const Operands& all, const Chunk& chunk, const at::Tensor& scores, GradientSums& sums) {
  each_tile(all, chunk, [&](const KeyTile& tile) {
    at::Tensor products = at::zeros({all.heads, all.batch * tile.keys, tile.rows.size(0)}, scores.options());
    by_queries(products, all, chunk, tile).copy_(scores.narrow(3, tile.first, tile.keys).transpose(0, 1));
    const at::Tensor of_keys = at::bmm(products, tile.table).mul_(all.scale);
    sums.key.unflatten(0, {all.batch, all.heads})
        .narrow(2, chunk.first_key + tile.first, tile.keys)
        .add_(of_keys.view({all.heads, all.batch, tile.keys, all.key.size(2)}).transpose(0, 1));
    sums.key_table.index_add_(1, tile.rows, at::bmm(products.transpose(1, 2), tile.key));
  });
}

/// Of scores [B, H, n, m], into both factors of each product.
void backward_products(const Operands& all, const Chunk& chunk, const Pair& pair, const at::Tensor& scores,
                       GradientSums& sums) {
  const at::Tensor rows = rows_view(scores);
  const std::int64_t width = all.call.query.size(3);
  const at::Tensor content = at::bmm(rows, pair.key).mul_(all.scale).view({all.batch, all.heads, chunk.count, width});
  sums.key.narrow(1, chunk.first_key, chunk.keys).add_(at::bmm(rows.transpose(1, 2), pair.content));
  at::Tensor products = at::zeros({all.heads, all.batch * chunk.count, chunk.distances()}, scores.options());
  shifted(products, all, chunk).copy_(scores.transpose(0, 1));
  const at::Tensor distance =
      at::bmm(products, pair.table).mul_(all.scale).view({all.heads, all.batch, chunk.count, width}).transpose(0, 1);
  sums.table.index_add_(1, pair.rows, at::bmm(products.transpose(1, 2), pair.distance));
  sums.query.narrow(2, chunk.begin, chunk.count).add_(content).add_(distance);
  sums.content_bias.add_(content.sum(at::IntArrayRef({0, 2})).unsqueeze(1));
  sums.distance_bias.add_(distance.sum(at::IntArrayRef({0, 2})).unsqueeze(1));
  backward_tiles(all, chunk, scores, sums);
  if (sums.added.defined()) {
    const auto [queries, keys] = chunk_positions(all, chunk);
    sums.added.add_(distance_gradient(all.call.added, queries, keys, scores.sum(0, true)));
  }
}

/// `gradient` [B, H, Q, D_v] of the output.
void backward_chunk(const Operands& all, const Chunk& chunk, const at::Tensor& gradient, GradientSums& sums) {
  const at::Tensor hidden = hidden_pairs(all, chunk);
  const Pair pair = pair_of(all, chunk);
  const at::Tensor weights = chunk_probabilities(pair, all, chunk, hidden);
  const at::Tensor dropped = dropout_of(all, chunk);
  const at::Tensor of_output = gradient.narrow(2, chunk.begin, chunk.count)
                                   .to(all.type)
                                   .reshape({all.batch * all.heads, chunk.count, gradient.size(3)});
  const at::Tensor shown = rows_view(dropped.defined() ? weights * dropped : weights);
  sums.value.narrow(1, chunk.first_key, chunk.keys).add_(at::bmm(shown.transpose(1, 2), of_output));
  at::Tensor of_weights =
      at::bmm(of_output, all.finite_value.narrow(1, chunk.first_key, chunk.keys).transpose(1, 2)).view_as(weights);
  of_weights = dropped.defined() ? of_weights * dropped : of_weights;
  // dS = P (dP - sum_j P_j dP_j)
  at::Tensor scores = weights * of_weights;
  scores = scores - weights * scores.sum(-1, true);
  backward_products(all, chunk, pair, hidden.defined() ? scores.masked_fill_(hidden, 0.0) : scores, sums);
}

template <typename Each>
void each_chunk(const Operands& all, const Each& each) {
  for (std::int64_t begin = 0; begin < all.call.query.size(2);) {
    const Chunk chunk = chunk_at(all, begin);
    if (chunk.keys > 0) {
      each(chunk);
    }
    begin += chunk.count;
  }
}

}  // namespace

RelativeForward portable_relative_forward(const RelativeCall& call) {
  const Operands all(call);
  const at::Tensor& query = call.query;
  at::Tensor output = empty_heads({query.size(0), query.size(1), query.size(2), call.value.size(3)}, query.options());
  output.zero_();
  each_chunk(all, [&](const Chunk& chunk) {
    output.narrow(2, chunk.begin, chunk.count)
        .copy_(forward_chunk(all, chunk).view({all.batch, all.heads, chunk.count, call.value.size(3)}));
  });
  return {output, {output, at::Tensor()}};
}

RelativeGradients portable_relative_backward(const RelativeCall& call, const Forward& /*kept*/,
                                             const at::Tensor& output_gradient) {
  const Operands all(call);
  GradientSums sums(all);
  each_chunk(all, [&](const Chunk& chunk) { backward_chunk(all, chunk, output_gradient, sums); });
  const auto unflat = [&](const at::Tensor& sum, const at::Tensor& like) {
    return sum_key_heads(sum.view({all.batch, all.heads, sum.size(1), sum.size(2)}), like);
  };
  return {sums.query.to(call.query.scalar_type()),
          unflat(sums.key, call.key),
          unflat(sums.value, call.value),
          sums.table.to(call.distances.scalar_type()),
          sums.content_bias.squeeze(1).to(call.content_bias.scalar_type()),
          sums.distance_bias.squeeze(1).to(call.distance_bias.scalar_type()),
          sums.added,
          sums.key_table.defined() ? sums.key_table.to(call.key_distances.scalar_type()) : at::Tensor()};
}

}  // namespace weft::attention
