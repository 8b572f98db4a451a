// SPDX-License-Identifier: Apache-2.0
// A head at a time, and in it a tile of queries: one product with the keys of the tile's blocks, the softmax of its
// rows, and the sums. The rows are whole, so that no log-sum-exp of another path is needed and each row sums to 1.
#include "weft/attention/profile/attention_mass.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::int64_t kMaximumEntries = std::int64_t{1} << 31;

// What all heads of a call read: plain memory on the CPU.
struct Prepared {
  at::Tensor query;       // [B, H, Q, D], contiguous
  at::Tensor key;         // [B, H_kv, K, D], contiguous
  at::Tensor key_keep;    // bool [B, K] or undefined
  at::Tensor query_keep;  // bool [B, Q] or undefined
  at::Tensor table;       // float64 [H, 1 or 2, span] or undefined
  std::int64_t zero;      // of the table
  const pattern::BlockLayout* layout;
  double scale;
};

at::Tensor on_cpu(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kCPU).contiguous() : tensor;
}

bool is_kept(const at::Tensor& keep, std::int64_t batch, std::int64_t position) {
  return !keep.defined() || keep.const_data_ptr<bool>()[batch * keep.size(1) + position];
}

// The rows of one head in one tile of queries.
class HeadTile {
 public:
  HeadTile(const Prepared& call, AttentionMass& sums, std::int64_t head) : call_(call), sums_(sums), head_(head) {}

  // False where a score is NaN or infinite.
  bool add(std::int64_t batch, std::int64_t query_block) {
    const pattern::BlockLayout& layout = *call_.layout;
    const pattern::BlockRange range = layout.view().row(batch, head_, query_block);
    const std::int64_t first = query_block * layout.tile.query;
    const std::int64_t count = std::min<std::int64_t>(layout.tile.query, layout.query_length - first);
    if (range.count() == 0) {
      return true;
    }
    const at::Tensor scores = products(batch, first, count, range);  // [count, keys of the range], float64
    bool is_finite = true;
    for (std::int64_t row = 0; row < count; ++row) {
      if (is_kept(call_.query_keep, batch, first + row)) {
        double* values = scores.mutable_data_ptr<double>() + row * scores.size(1);
        is_finite = add_row(batch, first + row, range, values) && is_finite;
      }
    }
    return is_finite;
  }

 private:
  std::int64_t keys_of(std::int64_t block) const {
    const std::int64_t first =
        std::int64_t{call_.layout->key_block[static_cast<std::size_t>(block)]} * call_.layout->tile.key;
    return std::min<std::int64_t>(call_.layout->tile.key, call_.layout->key_length - first);
  }

  // Runs of adjacent blocks are one product.
  at::Tensor products(std::int64_t batch, std::int64_t first, std::int64_t count, pattern::BlockRange range) const {
    const std::int64_t key_head = head_ * call_.key.size(1) / call_.query.size(1);
    const at::Tensor query = call_.query[batch][head_].narrow(0, first, count);
    const at::Tensor keys = call_.key[batch][key_head].transpose(0, 1);
    std::int64_t columns = 0;
    for (std::int64_t block = range.begin; block < range.end; ++block) {
      columns += keys_of(block);
    }
    at::Tensor scores = at::empty({count, columns}, at::kDouble);
    std::int64_t column = 0;
    for (std::int64_t block = range.begin; block < range.end;) {
      const std::int64_t begin = call_.layout->key_block[static_cast<std::size_t>(block)];
      std::int64_t width = 0;
      do {
        width += keys_of(block);
        ++block;
      } while (block < range.end && call_.layout->key_block[static_cast<std::size_t>(block)] ==
                                        call_.layout->key_block[static_cast<std::size_t>(block - 1)] + 1);
      scores.narrow(1, column, width).copy_(at::matmul(query, keys.narrow(1, begin * call_.layout->tile.key, width)));
      column += width;
    }
    return scores;
  }

  // The logarithm of the multiplicity of a pair; minus infinity for no edge.
  double edge(std::int32_t kind, std::int64_t row, std::int64_t key) const {
    const pattern::LayoutView view = call_.layout->view();
    if (pattern::is_full(kind)) {
      return 0.0;
    }
    if (pattern::is_weighted(kind)) {
      return view.weight(kind)[row * view.tile_key + key];
    }
    const std::uint64_t word = view.mask(kind)[row * view.words() + key / 64];
    return ((word >> (key % 64)) & 1U) != 0 ? 0.0 : -kInfinity;
  }

  double from_table(std::int64_t position, std::int64_t key) const {
    if (!call_.table.defined()) {
      return 0.0;
    }
    const std::int64_t span = call_.table.size(2);
    const bool is_second = call_.table.size(1) == 2 && (position == 0) != (key == 0);
    const std::int64_t place = std::clamp<std::int64_t>(position - key + call_.zero, 0, span - 1);
    return call_.table.const_data_ptr<double>()[(head_ * call_.table.size(1) + (is_second ? 1 : 0)) * span + place];
  }

  bool add_row(std::int64_t batch, std::int64_t query, pattern::BlockRange range, double* scores) {
    const pattern::BlockLayout& layout = *call_.layout;
    const std::int64_t position = query + layout.query_offset;
    keys_.clear();
    values_.clear();
    bool is_finite = true;
    for (std::int64_t block = range.begin; block < range.end; ++block) {
      const auto index = static_cast<std::size_t>(block);
      const std::int64_t first = std::int64_t{layout.key_block[index]} * layout.tile.key;
      for (std::int64_t key = 0; key < keys_of(block); ++key, ++scores) {
        const double multiplicity = edge(layout.kind[index], query % layout.tile.query, key);
        if (multiplicity == -kInfinity || !is_kept(call_.key_keep, batch, first + key)) {
          continue;
        }
        const double score = call_.scale * *scores + multiplicity + from_table(position, first + key);
        // A span that ends makes a score minus infinity; it is no edge.
        is_finite = is_finite && (std::isfinite(score) || score == -kInfinity);
        if (score != -kInfinity) {
          keys_.push_back(first + key);
          values_.push_back(score);
        }
      }
    }
    if (is_finite && !keys_.empty()) {
      add_probabilities(position);
    }
    return is_finite;
  }

  // H = log sum exp(s) - sum p s, with s relative to the largest.
  void add_probabilities(std::int64_t position) {
    const MassShape& shape = sums_.shape();
    const double largest = *std::max_element(values_.begin(), values_.end());
    double sum = 0.0;
    double weighted = 0.0;
    for (double& value : values_) {
      const double relative = value - largest;
      value = std::exp(relative);
      sum += value;
      weighted += value * relative;
    }
    const std::int64_t tiles = sums_.tile.size(2);
    double* tile = sums_.tile.mutable_data_ptr<double>() + (head_ * sums_.tile.size(1) + position / shape.tile) * tiles;
    double* key = sums_.key.mutable_data_ptr<double>() + head_ * shape.keys;
    double* distance =
        sums_.distance.mutable_data_ptr<double>() + head_ * sums_.distance.size(1) + position + shape.keys - 1;
    double* edge = sums_.edge.defined()
                       ? sums_.edge.mutable_data_ptr<double>() + (head_ * shape.queries + position) * shape.keys
                       : nullptr;
    for (std::size_t index = 0; index < keys_.size(); ++index) {
      const std::int64_t at = keys_[index];
      const double probability = values_[index] / sum;
      tile[at / shape.tile] += probability;
      key[at] += probability;
      distance[-at] += probability;
      if (edge != nullptr) {
        edge[at] += probability;
      }
    }
    sums_.entropy.mutable_data_ptr<double>()[head_] += std::log(sum) - weighted / sum;
    ++sums_.rows.mutable_data_ptr<std::int64_t>()[head_ * shape.queries + position];
  }

  const Prepared& call_;
  AttentionMass& sums_;
  std::int64_t head_;
  std::vector<std::int64_t> keys_;  // of the edges of a row
  std::vector<double> values_;      // their scores, then exp(score - largest)
};

void check_mass_call(const MassCall& call, const MassShape& shape) {
  require(call.layout != nullptr && call.query.dim() == 4 && call.key.dim() == 4,
          "profile: a call needs a layout, and query and key [batch, heads, length, head_dim]");
  require(call.query.size(0) == call.key.size(0) && call.query.size(3) == call.key.size(3) &&
              call.query.size(1) == shape.heads && call.key.size(1) > 0 && shape.heads % call.key.size(1) == 0,
          "profile: query ", call.query.sizes(), " and key ", call.key.sizes(), " do not fit ", shape.heads, " heads");
  call.layout->check(call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2));
  const std::int64_t end = call.layout->blocks().query_offset + call.query.size(2);
  require(call.layout->blocks().query_offset >= 0 && end <= shape.queries && call.key.size(2) <= shape.keys,
          "profile: a call has queries up to position ", end, " and ", call.key.size(2),
          " keys; the profile was begun for ", shape.queries, " and ", shape.keys);
}

void check_masks(const MassCall& call, const MassShape& shape) {
  const auto fits = [&](const at::Tensor& keep, std::int64_t length) {
    return !keep.defined() || (keep.scalar_type() == at::kBool && keep.dim() == 2 &&
                               keep.size(0) == call.query.size(0) && keep.size(1) == length);
  };
  require(fits(call.key_keep, call.key.size(2)) && fits(call.query_keep, call.query.size(2)),
          "profile: key_keep and query_keep must be bool [batch, length] of the keys and the queries");
  const at::Tensor& table = call.distances.scores;
  require(!table.defined() || ((table.dim() == 2 || (table.dim() == 3 && table.size(1) <= 2)) &&
                               table.size(0) == shape.heads && table.numel() > 0),
          "profile: a distance table must be [heads, span] or [heads, 1 or 2, span]");
}

Prepared prepare(const MassCall& call) {
  at::Tensor table = call.distances.scores;
  if (table.defined()) {
    table = on_cpu(table.to(at::kDouble).reshape({table.size(0), -1, table.size(-1)}));
  }
  // bfloat16 and float16 are exact in float32, in which the kernel multiplies them too.
  const at::ScalarType type = call.query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return {on_cpu(call.query.to(type)),
          on_cpu(call.key.to(type)),
          on_cpu(call.key_keep),
          on_cpu(call.query_keep),
          table,
          call.distances.zero,
          &call.layout->blocks(),
          call.scale};
}

}  // namespace

AttentionMass::AttentionMass(const MassShape& shape) : shape_(shape) {
  require(shape.heads >= 1 && shape.queries >= 1 && shape.keys >= 1 && shape.tile >= 1,
          "profile: heads, queries, keys and tile must be at least 1, found ", shape.heads, ", ", shape.queries, ", ",
          shape.keys, " and ", shape.tile);
  const auto tiles = [&](std::int64_t length) { return (length - 1) / shape.tile + 1; };
  const auto largest = [&](std::int64_t rows, std::int64_t columns) {
    return shape.heads <= kMaximumEntries / rows && shape.heads * rows <= kMaximumEntries / columns;
  };
  require(largest(tiles(shape.queries), tiles(shape.keys)) && largest(2, std::max(shape.queries, shape.keys)) &&
              (!shape.edges || largest(shape.queries, shape.keys)),
          "profile: ", shape.queries, " x ", shape.keys, " positions of ", shape.heads,
          " heads need sums of more than 2^31 entries; take larger tiles");
  tile = at::zeros({shape.heads, tiles(shape.queries), tiles(shape.keys)}, at::kDouble);
  key = at::zeros({shape.heads, shape.keys}, at::kDouble);
  distance = at::zeros({shape.heads, shape.queries + shape.keys - 1}, at::kDouble);
  entropy = at::zeros({shape.heads}, at::kDouble);
  rows = at::zeros({shape.heads, shape.queries}, at::kLong);
  if (shape.edges) {
    edge = at::zeros({shape.heads, shape.queries, shape.keys}, at::kDouble);
  }
}

void AttentionMass::add(const MassCall& call) {
  const at::NoGradGuard no_gradient;
  check_mass_call(call, shape_);
  check_masks(call, shape_);
  const Prepared prepared = prepare(call);
  std::atomic<bool> is_finite = true;
  // A head owns its sums: their order does not depend on the threads.
  at::parallel_for(0, shape_.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_gradient_here;
    for (std::int64_t head = begin; head < end; ++head) {
      HeadTile rows_of_head(prepared, *this, head);
      for (std::int64_t batch = 0; batch < prepared.query.size(0); ++batch) {
        for (std::int64_t block = 0; block < prepared.layout->query_blocks(); ++block) {
          if (!rows_of_head.add(batch, block)) {
            is_finite = false;
          }
        }
      }
    }
  });
  if (!is_finite) {
    fail(ErrorKind::kNumeric, "profile: a score is NaN or infinite; the model or its input holds such a number");
  }
}

}  // namespace weft::attention
