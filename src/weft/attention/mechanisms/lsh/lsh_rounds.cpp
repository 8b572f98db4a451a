// SPDX-License-Identifier: Apache-2.0
// Each round is a part of permuted_attention(): its order is that of the buckets, its layout is static, and positions
// of rows say which of the pairs are edges.
#include "weft/attention/mechanisms/lsh/lsh_rounds.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/searchsorted.h>

#include <cmath>
#include <string>

#include "weft/attention/permuted/permuted_attention.h"
#include "weft/attention/permuted/row_order.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr pattern::Tile kTile{64, 64};

/// In the dtype of sums, which half types are rounded to once, at the end.
PermutedCall call_without_parts(const HashedRows& given) {
  PermutedCall call;
  call.query = given.rows.to(accumulation_type(given.rows));
  call.key = call.query * key_factor(call.query);
  call.value = given.value.to(accumulation_type(given.value));
  call.dropout = given.dropout;
  call.seed = given.seed;
  return call;
}

/// Queries are the rows from chunk `left` on, keys have the chunks around them at both ends.
LayoutPtr layout_of_chunks(const HashChunks& chunks, const PermutedCall& call) {
  const std::string near = concat("window(left=", chunks.left, ", right=", chunks.right, ")");
  pattern::Site site;
  site.heads = call.query.size(1);
  site.query_length = call.query.size(2);
  site.query_offset = chunks.left * chunks.chunk;
  site.key_length = site.query_length + (chunks.left + chunks.right) * chunks.chunk;
  const bool has_rows = chunks.chunk == 1;
  return cached_layout(pattern::Pattern::parse(has_rows ? near : concat("block(", chunks.chunk, ", ", near, ")")), site,
                       kTile);
}

LayoutPtr layout_of_ranks(std::int64_t window, const PermutedCall& call) {
  pattern::Site site;
  site.heads = call.query.size(1);
  site.query_length = site.key_length = call.query.size(2);
  return cached_layout(pattern::Pattern::parse(concat("window(left=", window, ", right=0)")), site, kTile);
}

PermutedPart part_of_order(const at::Tensor& order, const LayoutPtr& layout) {
  PermutedPart part;
  part.queries = part.keys = order;
  part.places = places_of(order);
  part.layout = layout;
  part.positions.not_self = true;
  return part;
}

}  // namespace

at::Tensor key_factor(const at::Tensor& rows) {
  constexpr double kEpsilon = 1e-6;
  return at::rsqrt(rows.square().mean(-1, true) + kEpsilon) / std::sqrt(static_cast<double>(rows.size(-1)));
}

at::Tensor attention_in_chunks(const HashedRows& rows, const HashChunks& chunks) {
  const std::int64_t length = rows.rows.size(2);
  require(length % chunks.chunk == 0, "lsh attention: ", length, " rows are not whole chunks of ", chunks.chunk);
  PermutedCall call = call_without_parts(rows);
  const LayoutPtr layout = layout_of_chunks(chunks, call);
  const at::Tensor order = at::argsort(rows.buckets, true, -1, false);
  const at::Tensor circle = order.flatten(2, 3);  // every round behind the one before
  for (std::int64_t round = 0; round < order.size(2); ++round) {
    const std::int64_t first = round * length - chunks.left * chunks.chunk;
    const std::int64_t behind = (round + 1) * length + chunks.right * chunks.chunk;
    PermutedPart part = part_of_order(order.select(2, round), layout);
    part.keys = circle.index_select(2, at::arange(first, behind, order.options()).remainder_(circle.size(2)));
    part.positions.queries = part.queries.to(at::kInt);
    part.positions.keys = part.keys.to(at::kInt);
    part.positions.causal = chunks.by_position;
    if (rows.keep.defined()) {
      const at::Tensor padded = rows.keep.logical_not().unsqueeze(1).expand({-1, part.keys.size(1), -1});
      part.positions.keys = part.positions.keys.masked_fill(padded.gather(2, part.keys), -1);
    }
    call.parts.push_back(std::move(part));
  }
  return permuted_attention(call).to(rows.rows.scalar_type());
}

at::Tensor attention_by_rank(const HashedRows& rows, std::int64_t window) {
  PermutedCall call = call_without_parts(rows);
  const LayoutPtr layout = layout_of_ranks(window, call);
  const at::Tensor order = at::argsort(rows.buckets, true, -1, false);
  const at::Tensor sorted = rows.buckets.gather(-1, order);
  const at::Tensor first_of_bucket = at::searchsorted(sorted, sorted, true);
  for (std::int64_t round = 0; round < order.size(2); ++round) {
    PermutedPart part = part_of_order(order.select(2, round), layout);
    // Places are the positions: of equal buckets the earlier row comes first.
    part.positions.queries = part.positions.keys =
        at::arange(order.size(3), order.options().dtype(at::kInt)).view({1, 1, -1});
    part.positions.first = first_of_bucket.select(2, round);
    part.positions.causal = true;
    call.parts.push_back(std::move(part));
  }
  return permuted_attention(call).to(rows.rows.scalar_type());
}

}  // namespace weft::attention
