// SPDX-License-Identifier: Apache-2.0
// A head at a time, and in it a tile of queries: one product with the keys of the tile's blocks, the softmax of its
// rows, and the sums. The rows are whole, so that no log-sum-exp of another path is needed and each row sums to 1.
#include "weft/attention/profile/attention_mass.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "weft/attention/profile/row_sums.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kLongestProfile = std::int64_t{1} << 31;
// In place of the score of a pair without an edge: finite, so that 0 times it is 0, and beyond every score.
constexpr double kNever = -1e30;
constexpr double kEmptyRow = -1e29;

// What all heads of a call read: plain memory on the CPU, in the type of the scores.
struct Prepared {
  at::Tensor query;           // [B, H, Q, D], scaled
  at::Tensor key;             // [B, H_kv, K, D]
  at::Tensor key_keep;        // bool [B, K] or undefined
  at::Tensor query_keep;      // bool [B, Q] or undefined
  at::Tensor table;           // [H, 1 or 2, span] or undefined
  at::Tensor relative_query;  // [B, H, Q, D], scaled, or undefined
  at::Tensor relative_rows;   // [H, span, D]
  std::int64_t zero;          // of the table or the relative rows
  const pattern::BlockLayout* layout;
  std::vector<std::int64_t> positions;  // of the queries
  std::int64_t last;                    // of them
};

at::Tensor on_cpu(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kCPU).contiguous() : tensor;
}

bool is_kept(const at::Tensor& keep, std::int64_t batch, std::int64_t position) {
  return !keep.defined() || keep.const_data_ptr<bool>()[batch * keep.size(1) + position];
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

// A run of adjacent key blocks, side by side in the scores of a tile of queries.
struct Run {
  std::int64_t first;  // key
  std::int64_t keys;
  std::int64_t column;  // of the scores
};

// The rows of one head.
template <typename Number>
class HeadRows {
 public:
  HeadRows(const Prepared& call, profile::MassSums& sums, std::int64_t head)
      : call_(call), head_(head), sums_(sums, head, call.last, call.key.size(2)) {}

  // All rows of one member of the batch. False where a score is NaN or infinite.
  bool add(std::int64_t batch) {
    bool is_finite = true;
    for (std::int64_t block = 0; block < call_.layout->query_blocks(); ++block) {
      is_finite = add_tile(batch, block) && is_finite;
    }
    sums_.finish();
    return is_finite;
  }

 private:
  bool add_tile(std::int64_t batch, std::int64_t query_block) {
    const pattern::BlockLayout& layout = *call_.layout;
    const pattern::BlockRange range = layout.view().row(batch, head_, query_block);
    const std::int64_t first = query_block * layout.tile.query;
    const std::int64_t count = std::min<std::int64_t>(layout.tile.query, layout.query_length - first);
    if (range.count() == 0) {
      return true;
    }
    find_runs(range);
    at::Tensor scores = products(batch, first, count);  // [count, columns]
    auto* const numbers = scores.mutable_data_ptr<Number>();
    add_distances(batch, first, count, numbers);
    for (std::int64_t row = 0; row < count; ++row) {
      mask_row(batch, row, range, numbers + row * columns_);
    }
    const at::Tensor largest = at::amax(scores, {1}, true);
    scores.sub_(largest);
    const at::Tensor exponentials = scores.exp();
    bool is_finite = true;
    for (std::int64_t row = 0; row < count; ++row) {
      const auto most = static_cast<double>(largest.const_data_ptr<Number>()[row]);
      if (!is_kept(call_.query_keep, batch, first + row) || most <= kEmptyRow) {
        continue;
      }
      is_finite = is_finite && std::isfinite(most);
      sums_.begin_row(call_.positions[static_cast<std::size_t>(first + row)]);
      for (const Run& run : runs_) {
        const std::int64_t at = row * columns_ + run.column;
        sums_.measure(exponentials.const_data_ptr<Number>() + at, numbers + at, run.first, run.keys);
      }
      for (const Run& run : runs_) {
        sums_.add(exponentials.const_data_ptr<Number>() + row * columns_ + run.column, run.first, run.keys);
      }
      sums_.end_row();
    }
    return is_finite;
  }

  std::int64_t first_key(std::int64_t block) const {
    return std::int64_t{call_.layout->key_block[static_cast<std::size_t>(block)]} * call_.layout->tile.key;
  }

  std::int64_t keys_of(std::int64_t block) const {
    return std::min<std::int64_t>(call_.layout->tile.key, call_.layout->key_length - first_key(block));
  }

  void find_runs(pattern::BlockRange range) {
    runs_.clear();
    columns_ = 0;
    for (std::int64_t block = range.begin; block < range.end; ++block) {
      if (runs_.empty() || runs_.back().first + runs_.back().keys != first_key(block)) {
        runs_.push_back({first_key(block), 0, columns_});
      }
      runs_.back().keys += keys_of(block);
      columns_ += keys_of(block);
    }
  }

  at::Tensor products(std::int64_t batch, std::int64_t first, std::int64_t count) const {
    const std::int64_t key_head = head_ * call_.key.size(1) / call_.query.size(1);
    const at::Tensor query = call_.query[batch][head_].narrow(0, first, count);
    const at::Tensor keys = call_.key[batch][key_head].transpose(0, 1);
    if (runs_.size() == 1) {
      return at::matmul(query, keys.narrow(1, runs_.front().first, columns_));
    }
    at::Tensor scores = at::empty({count, columns_}, query.options());
    for (const Run& run : runs_) {
      scores.narrow(1, run.column, run.keys).copy_(at::matmul(query, keys.narrow(1, run.first, run.keys)));
    }
    return scores;
  }

  void add_distances(std::int64_t batch, std::int64_t first, std::int64_t count, Number* scores) const {
    if (call_.table.defined()) {
      add_table(first, count, scores);
    }
    if (call_.relative_query.defined()) {
      for (const Run& run : runs_) {
        add_relative(batch, first, count, run, scores);
      }
    }
  }

  void add_table(std::int64_t first, std::int64_t count, Number* scores) const {
    const std::int64_t tables = call_.table.size(1);
    const std::int64_t span = call_.table.size(2);
    const Number* numbers = call_.table.const_data_ptr<Number>() + head_ * tables * span;
    // Of pairs of which exactly one is position 0; the same where there is one table.
    const DistanceScores<Number> usual{numbers, 0, span, call_.zero};
    const DistanceScores<Number> with_first{numbers + (tables - 1) * span, 0, span, call_.zero};
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t position = call_.positions[static_cast<std::size_t>(first + row)];
      for (const Run& run : runs_) {
        Number* line = scores + row * columns_ + run.column;
        for (std::int64_t key = 0; key < run.keys; ++key) {
          const std::int64_t at = run.first + key;
          line[key] += ((position == 0) != (at == 0) ? with_first : usual).at(position - at);
        }
      }
    }
  }

  void add_relative(std::int64_t batch, std::int64_t first, std::int64_t count, const Run& run, Number* scores) const {
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
      Number* line = scores + row * columns_ + run.column;
      for (std::int64_t key = 0; key < run.keys; ++key) {
        line[key] += of_row.at(position + row - run.first - key);
      }
    }
  }

  // What no edge leads to counts nothing; multiplicities add their logarithms.
  void mask_row(std::int64_t batch, std::int64_t row, pattern::BlockRange range, Number* scores) const {
    const pattern::LayoutView view = call_.layout->view();
    const bool* keep =
        call_.key_keep.defined() ? call_.key_keep.const_data_ptr<bool>() + batch * call_.key_keep.size(1) : nullptr;
    for (std::int64_t block = range.begin; block < range.end; ++block) {
      const std::int32_t kind = call_.layout->kind[static_cast<std::size_t>(block)];
      const std::int64_t keys = keys_of(block);
      if (pattern::is_weighted(kind)) {
        const auto* const weights = view.weight(kind) + row * view.tile_key;
        std::transform(scores, scores + keys, weights, scores,
                       [](Number score, auto weight) { return score + static_cast<Number>(weight); });
      } else if (!pattern::is_full(kind)) {
        const std::uint64_t* words = view.mask(kind) + row * view.words();
        for (std::int64_t key = 0; key < keys; ++key) {
          scores[key] = ((words[key / 64] >> (key % 64)) & 1U) != 0 ? scores[key] : static_cast<Number>(kNever);
        }
      }
      for (std::int64_t key = 0; keep != nullptr && key < keys; ++key) {
        scores[key] = keep[first_key(block) + key] ? scores[key] : static_cast<Number>(kNever);
      }
      // Multiplicity 0, or a span that ends: minus infinity. NaN stays.
      for (std::int64_t key = 0; key < keys; ++key) {
        scores[key] = scores[key] < static_cast<Number>(kNever) ? static_cast<Number>(kNever) : scores[key];
      }
      scores += keys;
    }
  }

  const Prepared& call_;
  std::int64_t head_;
  RowSums<Number> sums_;
  std::vector<Run> runs_;  // of the tile
  std::int64_t columns_ = 0;
};

std::int64_t end_of(const MassCall& call) {
  const std::int64_t next = call.layout->blocks().query_offset + call.query.size(2);
  return call.positions.empty() ? next : *std::max_element(call.positions.begin(), call.positions.end()) + 1;
}

void check_mass_call(const MassCall& call, const profile::MassSums& sums) {
  const std::int64_t heads = sums.shape().heads;
  require(call.layout != nullptr && call.query.dim() == 4 && call.key.dim() == 4,
          "profile: a call needs a layout, and query and key [batch, heads, length, head_dim]");
  require(call.query.size(0) == call.key.size(0) && call.query.size(3) == call.key.size(3) &&
              call.query.size(1) == heads && call.key.size(1) > 0 && heads % call.key.size(1) == 0,
          "profile: query ", call.query.sizes(), " and key ", call.key.sizes(), " do not fit ", heads, " heads");
  call.layout->check(call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2));
  const std::int64_t rows = call.query.size(0) * call.query.size(2);
  require(call.layout->blocks().query_offset >= 0 && end_of(call) <= kLongestProfile && rows <= profile::kMostRows &&
              sums.rows_of(0) <= profile::kMostRows - rows,
          "profile: a head counts at most ", profile::kMostRows, " rows; profile fewer texts");
  const auto& positions = call.positions;
  require(positions.empty() || (std::ssize(positions) == call.query.size(2) &&
                                *std::min_element(positions.begin(), positions.end()) >= 0),
          "profile: there must be a position for each of ", call.query.size(2), " queries, none negative");
  require(positions.empty() || !(call.distances.scores.defined() || call.relative.query.defined()),
          "profile: queries that were picked out of a text have no distances");
}

void check_masks(const MassCall& call, std::int64_t heads) {
  const auto fits = [&](const at::Tensor& keep, std::int64_t length) {
    return !keep.defined() || (keep.scalar_type() == at::kBool && keep.dim() == 2 &&
                               keep.size(0) == call.query.size(0) && keep.size(1) == length);
  };
  require(fits(call.key_keep, call.key.size(2)) && fits(call.query_keep, call.query.size(2)),
          "profile: key_keep and query_keep must be bool [batch, length] of the keys and the queries");
  const at::Tensor& table = call.distances.scores;
  require(!table.defined() || ((table.dim() == 2 || (table.dim() == 3 && table.size(1) <= 2)) &&
                               table.size(0) == heads && table.numel() > 0),
          "profile: a distance table must be [heads, span] or [heads, 1 or 2, span]");
}

void check_relative(const MassCall& call, std::int64_t heads) {
  const RelativeMass& relative = call.relative;
  require(
      !relative.query.defined() || (!call.distances.scores.defined() && relative.query.sizes() == call.query.sizes() &&
                                    relative.rows.dim() == 3 && relative.rows.size(0) == heads &&
                                    relative.rows.size(1) > 0 && relative.rows.size(2) == call.query.size(3)),
      "profile: a relative term must have a second query like the first and rows [heads, span, head_dim], without "
      "a distance table");
}

Prepared prepare(const MassCall& call) {
  // bfloat16 and float16 are exact in float32, in which the kernel multiplies them too.
  const at::ScalarType type = accumulation_type(call.query);
  const auto scaled = [&](const at::Tensor& query) {
    return query.defined() ? on_cpu(query.to(type) * call.scale) : query;
  };
  at::Tensor table = call.distances.scores;
  if (table.defined()) {
    table = on_cpu(table.to(type).reshape({table.size(0), -1, table.size(-1)}));
  }
  Prepared prepared{.query = scaled(call.query),
                    .key = on_cpu(call.key.to(type)),
                    .key_keep = on_cpu(call.key_keep),
                    .query_keep = on_cpu(call.query_keep),
                    .table = table,
                    .relative_query = scaled(call.relative.query),
                    .relative_rows = call.relative.rows.defined() ? on_cpu(call.relative.rows.to(type)) : at::Tensor(),
                    .zero = table.defined() ? call.distances.zero : call.relative.zero,
                    .layout = &call.layout->blocks(),
                    .positions = call.positions,
                    .last = end_of(call) - 1};
  for (std::int64_t query = 0; call.positions.empty() && query < call.query.size(2); ++query) {
    prepared.positions.push_back(prepared.layout->query_offset + query);
  }
  return prepared;
}

template <typename Number>
bool add_heads(profile::MassSums& sums, const Prepared& prepared) {
  std::atomic<bool> is_finite = true;
  // A head owns its sums: their order does not depend on the threads.
  at::parallel_for(0, sums.shape().heads, 1, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_gradient_here;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast_here(c10::autocast_dispatch_keyset);
    for (std::int64_t head = begin; head < end; ++head) {
      HeadRows<Number> rows(prepared, sums, head);
      for (std::int64_t batch = 0; batch < prepared.query.size(0); ++batch) {
        if (!rows.add(batch)) {
          is_finite = false;
        }
      }
    }
  });
  return is_finite;
}

}  // namespace

void add_mass(profile::MassSums& sums, const MassCall& call) {
  const at::NoGradGuard no_gradient;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  check_mass_call(call, sums);
  check_masks(call, sums.shape().heads);
  check_relative(call, sums.shape().heads);
  if (call.query.numel() == 0 || call.key.numel() == 0) {
    return;
  }
  sums.grow(end_of(call), call.key.size(2));
  const Prepared prepared = prepare(call);
  const bool is_finite = prepared.query.scalar_type() == at::kDouble ? add_heads<double>(sums, prepared)
                                                                     : add_heads<float>(sums, prepared);
  if (!is_finite) {
    fail(ErrorKind::kNumeric, "profile: a score is NaN or infinite; the model or its input holds such a number");
  }
}

}  // namespace weft::attention
