// SPDX-License-Identifier: Apache-2.0
// A spare place repeats the row before it in its column: it sees what that row sees, so that NaN in a row reaches no
// other column through it.
#include "weft/attention/permuted/stride_parts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "weft/core/error.h"
#include "weft/pattern/compile/stride_columns.h"

namespace weft::attention {
namespace {

constexpr pattern::Tile kPlaceTile{64, 64};

LayoutPtr layout_of(const pattern::Pattern& pattern, pattern::Site site, std::int64_t length) {
  site.query_length = site.key_length = length;
  return cached_layout(pattern, site, kPlaceTile);
}

/// Positions that hide keys and nothing else: `hidden` is bool [B or 1, P], undefined where all are seen.
RowPositions positions_hiding(const at::Tensor& hidden) {
  if (!hidden.defined()) {
    return {};
  }
  RowPositions positions;
  const at::TensorOptions options = hidden.options().dtype(at::kInt);
  positions.queries = at::zeros({1, 1, hidden.size(1)}, options);
  positions.keys = -hidden.to(at::kInt).unsqueeze(1);
  return positions;
}

}  // namespace

std::shared_ptr<const StrideParts> StrideParts::find(const pattern::Pattern& pattern, const pattern::Site& site) {
  const auto split = pattern::strides_in_columns(pattern, site);
  if (!split) {
    return nullptr;
  }
  auto found = std::make_shared<StrideParts>();
  const std::int64_t length = site.key_length;
  for (const pattern::StrideColumns& given : split->columns) {
    const std::int64_t stride = given.stride;
    Columns columns;
    const at::Tensor place = at::arange(given.places(), at::kLong);
    const at::Tensor row = place.remainder(given.rows) * stride + place.div(given.rows, "floor");
    const at::Tensor is_spare = row >= length;
    columns.rows = at::where(is_spare, row - stride, row);
    if (!given.is_causal && given.places() > length) {
      columns.spare = is_spare;
    }
    const at::Tensor text = at::arange(length, at::kLong);
    columns.places = text.remainder(stride) * given.rows + text.div(stride, "floor");
    columns.layout = layout_of(given.pattern, site, given.places());
    found->columns_.push_back(std::move(columns));
  }
  if (split->rest) {
    found->rest_ = layout_of(*split->rest, site, length);
  }
  return found;
}

std::vector<PermutedPart> StrideParts::parts(const at::Tensor& like, const at::Tensor& key_keep) const {
  std::vector<PermutedPart> found;
  const at::Tensor padded = key_keep.defined() ? key_keep.logical_not() : at::Tensor();
  if (rest_ != nullptr) {
    found.push_back({.layout = rest_, .positions = positions_hiding(padded)});
  }
  for (const Columns& columns : columns_) {
    const at::Tensor rows = columns.rows.to(like.device());
    at::Tensor hidden = columns.spare.defined() ? columns.spare.to(like.device()).unsqueeze(0) : at::Tensor();
    if (padded.defined()) {
      const at::Tensor here = padded.index_select(1, rows);
      hidden = hidden.defined() ? here.logical_or(hidden) : here;
    }
    PermutedPart part;
    part.queries = part.keys = rows.view({1, 1, -1});
    part.places = columns.places.to(like.device()).view({1, 1, -1});
    part.layout = columns.layout;
    part.positions = positions_hiding(hidden);
    found.push_back(std::move(part));
  }
  return found;
}

}  // namespace weft::attention
