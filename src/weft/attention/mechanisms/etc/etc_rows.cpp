// SPDX-License-Identifier: Apache-2.0
// What both kinds of rows share, and the rows of global tokens.
#include "weft/attention/mechanisms/etc/etc_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "weft/attention/mechanisms/etc/etc_labels.h"

namespace weft::attention {
namespace {

constexpr std::uint64_t kGlobalStream = 2;  // of dropout; long rows have 1

at::Tensor all_or(const at::Tensor& keep, const at::Tensor& rows) {
  return keep.defined() ? keep : at::ones({rows.size(0), rows.size(2)}, rows.options().dtype(at::kBool));
}

/// What the labels of two global tokens add, [B, H, G, G].
at::Tensor between_globals(const EtcRows& globals, const at::Tensor& segment, std::int64_t max_distance) {
  const at::Tensor order = at::arange(globals.query.size(2), globals.query.options().dtype(at::kLong));
  const at::Tensor distance = order.unsqueeze(0) - order.unsqueeze(1);
  at::Tensor near = look_up(globals.by_label, distance_labels(distance, max_distance));
  if (!segment.defined()) {
    return near;
  }
  const at::Tensor same = segment.unsqueeze(2) == segment.unsqueeze(1);
  return at::where(same.unsqueeze(1), near, last_label(globals.by_label, LastLabel::kOtherSegment));
}

/// Which tokens a global one sees, bool [B, G, N].
at::Tensor seen_tokens(const EtcPairs& pairs, const at::Tensor& own, bool hard) {
  at::Tensor kept = pairs.keep.unsqueeze(1).expand_as(own);
  if (!hard) {
    return kept;
  }
  const at::Tensor& sees_all = pairs.structure.sees_all;
  return kept.logical_and(sees_all.defined() ? own.logical_or(sees_all.unsqueeze(-1)) : own);
}

}  // namespace

EtcRows etc_rows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& table,
                 const at::Tensor& bias) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
  const at::Tensor scaled = query * scale;
  const at::ScalarType type = query.scalar_type();
  const at::Tensor by_label =
      at::matmul(scaled, table.to(type).permute({1, 2, 0})) + (bias.to(type) * scale).t().unsqueeze(1);
  return {scaled, key, value, by_label};
}

EtcPairs etc_pairs(const EtcStructure& structure, const EtcRows& tokens, const EtcRows& globals) {
  const at::TensorOptions options = tokens.query.options().requires_grad(false);
  const at::Tensor numbers = at::arange(globals.query.size(2), options.dtype(at::kLong));
  at::Tensor own =
      at::zeros({tokens.query.size(0), tokens.query.size(2), globals.query.size(2)}, options.dtype(at::kBool));
  for (const at::Tensor& ids : {structure.sentence, structure.paragraph, structure.linked}) {
    if (ids.defined()) {
      own = own.logical_or(ids.unsqueeze(-1) == numbers);
    }
  }
  return {.own = own,
          .keep = all_or(structure.keep, tokens.query),
          .global_keep = all_or(structure.global_keep, globals.query),
          .structure = structure};
}

at::Tensor global_rows(const EtcRows& tokens, const EtcRows& globals, const EtcPairs& pairs, const EtcShape& shape) {
  const std::int64_t count = globals.query.size(2);
  const at::Tensor own = pairs.own.transpose(1, 2);  // [B, G, N]
  const at::Tensor to_globals = at::matmul(globals.query, globals.key.transpose(-1, -2)) +
                                between_globals(globals, pairs.structure.global_segment, shape.max_distance);
  const at::Tensor to_tokens =
      at::matmul(globals.query, tokens.key.transpose(-1, -2)) + by_sentence(globals.by_label, own);
  const at::Tensor edges = at::cat({pairs.global_keep.unsqueeze(1).expand({-1, count, -1}),
                                    seen_tokens(pairs, own, shape.hard_global_to_long)},
                                   -1)
                               .unsqueeze(1);
  const at::Tensor weights =
      probabilities(at::cat({to_globals, to_tokens}, -1), edges, pairs.dropout, pairs.seed.derived(0, kGlobalStream));
  return at::matmul(weights.narrow(-1, 0, count), globals.value) +
         at::matmul(weights.narrow(-1, count, own.size(-1)), tokens.value);
}

}  // namespace weft::attention
