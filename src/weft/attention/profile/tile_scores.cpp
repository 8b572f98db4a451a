// SPDX-License-Identifier: Apache-2.0
// Adjacent key blocks are one product. Distances and masks are loops over numbers that lie side by side.
#include "weft/attention/profile/tile_scores.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <algorithm>

#include "weft/attention/profile/row_loops.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

at::Tensor on_cpu(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kCPU).contiguous() : tensor;
}

// A number for each distance in [low, low + count) of a table of `span` entries; what lies beyond has that at the end.
template <typename Number>
struct DistanceScores {
  const Number* numbers;
  std::int64_t low;
  std::int64_t span;
  std::int64_t zero;

  Number at(std::int64_t distance) const {
    return numbers[std::clamp<std::int64_t>(distance + zero, 0, span - 1) - low];
  }
};

void check_observed(const MassCall& call) {
  require(call.layout != nullptr && call.query.dim() == 4 && call.key.dim() == 4,
          "attention: an observed call needs a layout, and query and key [batch, heads, length, head_dim]");
  const std::int64_t heads = call.query.size(1);
  require(call.query.size(0) == call.key.size(0) && call.query.size(3) == call.key.size(3) && call.key.size(1) > 0 &&
              heads % call.key.size(1) == 0,
          "attention: observed query ", call.query.sizes(), " and key ", call.key.sizes(), " do not fit each other");
  call.layout->check(call.query.size(0), heads, call.query.size(2), call.key.size(2));
  const auto& positions = call.positions;
  require(positions.empty() || (std::ssize(positions) == call.query.size(2) &&
                                *std::min_element(positions.begin(), positions.end()) >= 0),
          "attention: an observed call needs a position for each of ", call.query.size(2), " queries, none negative");
  require(positions.empty() || !(call.distances.scores.defined() || call.relative.query.defined()),
          "attention: observed queries that were picked out of a text have no distances");
}

void check_masks(const MassCall& call) {
  const auto fits = [&](const at::Tensor& keep, std::int64_t length) {
    return !keep.defined() || (keep.scalar_type() == at::kBool && keep.dim() == 2 &&
                               keep.size(0) == call.query.size(0) && keep.size(1) == length);
  };
  require(fits(call.key_keep, call.key.size(2)) && fits(call.query_keep, call.query.size(2)),
          "attention: key_keep and query_keep must be bool [batch, length] of the keys and the queries");
  const at::Tensor& table = call.distances.scores;
  require(!table.defined() || ((table.dim() == 2 || (table.dim() == 3 && table.size(1) <= 2)) &&
                               table.size(0) == call.query.size(1) && table.numel() > 0),
          "attention: a distance table must be [heads, span] or [heads, 1 or 2, span]");
}

void check_relative(const MassCall& call) {
  const RelativeMass& relative = call.relative;
  require(
      !relative.query.defined() || (!call.distances.scores.defined() && relative.query.sizes() == call.query.sizes() &&
                                    relative.rows.dim() == 3 && relative.rows.size(0) == call.query.size(1) &&
                                    relative.rows.size(1) > 0 && relative.rows.size(2) == call.query.size(3)),
      "attention: a relative term must have a second query like the first and rows [heads, span, head_dim], "
      "without a distance table");
}

}  // namespace

ScoredCall scored_call(const MassCall& call) {
  check_observed(call);
  check_masks(call);
  check_relative(call);
  // bfloat16 and float16 are exact in float32, in which the kernel multiplies them too.
  const at::ScalarType type = accumulation_type(call.query);
  const auto scaled = [&](const at::Tensor& query) {
    return query.defined() ? on_cpu(query.to(type) * call.scale) : query;
  };
  at::Tensor table = call.distances.scores;
  if (table.defined()) {
    table = on_cpu(table.to(type).reshape({table.size(0), -1, table.size(-1)}));
  }
  ScoredCall scored{.query = scaled(call.query),
                    .key = on_cpu(call.key.to(type)),
                    .key_keep = on_cpu(call.key_keep),
                    .query_keep = on_cpu(call.query_keep),
                    .table = table,
                    .relative_query = scaled(call.relative.query),
                    .relative_rows = call.relative.rows.defined() ? on_cpu(call.relative.rows.to(type)) : at::Tensor(),
                    .zero = table.defined() ? call.distances.zero : call.relative.zero,
                    .layout = call.layout,
                    .positions = call.positions};
  for (std::int64_t query = 0; call.positions.empty() && query < call.query.size(2); ++query) {
    scored.positions.push_back(scored.layout->blocks().query_offset + query);
  }
  return scored;
}

bool is_kept(const at::Tensor& keep, std::int64_t batch, std::int64_t position) {
  return !keep.defined() || keep.const_data_ptr<bool>()[batch * keep.size(1) + position];
}

at::Tensor TileScores::of(std::int64_t batch, std::int64_t query_block, KeyRange keys) {
  const pattern::BlockLayout& layout = call_.layout->blocks();
  const std::int64_t first = query_block * layout.tile.query;
  find_runs(batch, query_block, keys);
  if (runs_.empty()) {
    return {};
  }
  at::Tensor scores = products(batch, first, std::min<std::int64_t>(layout.tile.query, layout.query_length - first));
  if (scores.scalar_type() == at::kDouble) {
    complete<double>(batch, first, scores);
  } else {
    complete<float>(batch, first, scores);
  }
  return scores;
}

std::int64_t TileScores::first_key(std::int64_t block) const {
  const pattern::BlockLayout& layout = call_.layout->blocks();
  return std::int64_t{layout.key_block[static_cast<std::size_t>(block)]} * layout.tile.key;
}

std::int64_t TileScores::keys_of(std::int64_t block) const {
  const pattern::BlockLayout& layout = call_.layout->blocks();
  return std::min<std::int64_t>(layout.tile.key, layout.key_length - first_key(block));
}

void TileScores::find_runs(std::int64_t batch, std::int64_t query_block, KeyRange keys) {
  range_ = call_.layout->blocks().view().row(batch, head_, query_block);
  while (range_.begin < range_.end && first_key(range_.begin) + keys_of(range_.begin) <= keys.begin) {
    ++range_.begin;
  }
  while (range_.begin < range_.end && first_key(range_.end - 1) >= keys.end) {
    --range_.end;
  }
  runs_.clear();
  columns_ = 0;
  for (std::int64_t block = range_.begin; block < range_.end; ++block) {
    if (runs_.empty() || runs_.back().first + runs_.back().keys != first_key(block)) {
      runs_.push_back({first_key(block), 0, columns_});
    }
    runs_.back().keys += keys_of(block);
    columns_ += keys_of(block);
  }
}

at::Tensor TileScores::products(std::int64_t batch, std::int64_t first, std::int64_t count) const {
  const std::int64_t key_head = head_ * call_.key.size(1) / call_.query.size(1);
  const at::Tensor query = call_.query[batch][head_].narrow(0, first, count);
  const at::Tensor keys = call_.key[batch][key_head].transpose(0, 1);
  if (runs_.size() == 1) {
    return at::matmul(query, keys.narrow(1, runs_.front().first, columns_));
  }
  at::Tensor scores = at::empty({count, columns_}, query.options());
  for (const KeyRun& run : runs_) {
    scores.narrow(1, run.column, run.keys).copy_(at::matmul(query, keys.narrow(1, run.first, run.keys)));
  }
  return scores;
}

template <typename Number>
void TileScores::complete(std::int64_t batch, std::int64_t first, at::Tensor& scores) const {
  auto* const numbers = scores.mutable_data_ptr<Number>();
  if (call_.table.defined()) {
    add_table(first, scores.size(0), numbers);
  }
  for (std::size_t run = 0; call_.relative_query.defined() && run < runs_.size(); ++run) {
    add_relative<Number>(batch, first, runs_[run], scores);
  }
  for (std::int64_t row = 0; row < scores.size(0); ++row) {
    mask_row(batch, row, numbers + row * columns_);
  }
}

template <typename Number>
void TileScores::add_table(std::int64_t first, std::int64_t count, Number* scores) const {
  const std::int64_t tables = call_.table.size(1);
  const std::int64_t span = call_.table.size(2);
  const Number* numbers = call_.table.const_data_ptr<Number>() + head_ * tables * span;
  // Of pairs of which exactly one is position 0; the same where there is one table.
  const DistanceScores<Number> usual{numbers, 0, span, call_.zero};
  const DistanceScores<Number> with_first{numbers + (tables - 1) * span, 0, span, call_.zero};
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t position = call_.positions[static_cast<std::size_t>(first + row)];
    for (const KeyRun& run : runs_) {
      Number* line = scores + row * columns_ + run.column;
      for (std::int64_t key = 0; key < run.keys; ++key) {
        const std::int64_t at = run.first + key;
        line[key] += ((position == 0) != (at == 0) ? with_first : usual).at(position - at);
      }
    }
  }
}

template <typename Number>
void TileScores::add_relative(std::int64_t batch, std::int64_t first, const KeyRun& run, at::Tensor& scores) const {
  const std::int64_t count = scores.size(0);
  const std::int64_t span = call_.relative_rows.size(1);
  const auto place = [&](std::int64_t distance) {
    return std::clamp<std::int64_t>(distance + call_.zero, 0, span - 1);
  };
  const std::int64_t position = call_.positions[static_cast<std::size_t>(first)];
  const std::int64_t low = place(position - (run.first + run.keys - 1));
  const std::int64_t high = place(position + count - 1 - run.first);
  const at::Tensor rows = call_.relative_rows[head_].narrow(0, low, high - low + 1);
  const at::Tensor query = call_.relative_query[batch][head_].narrow(0, first, count);
  const at::Tensor product = at::matmul(query, rows.transpose(0, 1));  // [count, distances]
  for (std::int64_t row = 0; row < count; ++row) {
    const DistanceScores<Number> of_row{product.const_data_ptr<Number>() + row * product.size(1), low, span,
                                        call_.zero};
    Number* line = scores.mutable_data_ptr<Number>() + row * columns_ + run.column;
    for (std::int64_t key = 0; key < run.keys; ++key) {
      line[key] += of_row.at(position + row - run.first - key);
    }
  }
}

// What no edge leads to counts nothing; multiplicities add their logarithms.
template <typename Number>
void TileScores::mask_row(std::int64_t batch, std::int64_t row, Number* scores) const {
  const pattern::LayoutView view = call_.layout->blocks().view();
  const bool* keep =
      call_.key_keep.defined() ? call_.key_keep.const_data_ptr<bool>() + batch * call_.key_keep.size(1) : nullptr;
  for (std::int64_t block = range_.begin; block < range_.end; ++block) {
    const std::int32_t kind = call_.layout->blocks().kind[static_cast<std::size_t>(block)];
    const std::int64_t keys = keys_of(block);
    if (pattern::is_weighted(kind)) {
      const auto* const weights = view.weight(kind) + row * view.tile_key;
      std::transform(scores, scores + keys, weights, scores,
                     [](Number score, auto weight) { return score + static_cast<Number>(weight); });
    } else if (!pattern::is_full(kind)) {
      const std::uint64_t* words = view.mask(kind) + row * view.words();
      for (std::int64_t key = 0; key < keys; ++key) {
        scores[key] = ((words[key / 64] >> (key % 64)) & 1U) != 0 ? scores[key] : static_cast<Number>(kNoEdge);
      }
    }
    for (std::int64_t key = 0; keep != nullptr && key < keys; ++key) {
      scores[key] = keep[first_key(block) + key] ? scores[key] : static_cast<Number>(kNoEdge);
    }
    scores += keys;
  }
  raise_to_no_edge(scores - columns_, columns_);  // multiplicity 0, or a span that ends
}

}  // namespace weft::attention
