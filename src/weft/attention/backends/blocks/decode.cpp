// SPDX-License-Identifier: Apache-2.0
// Heads that share a layout go in one product, over the keys of their edges and no others; the query heads of a key
// head become its query rows, so that grouped keys are not repeated.
#include "weft/attention/backends/blocks/decode.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "weft/attention/distance_table.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

// What the one query of a group sees.
struct Edges {
  std::vector<std::int64_t> keys;  // ascending
  std::vector<float> log_weights;  // of each key; empty where all are 0

  std::int64_t count() const noexcept { return std::ssize(keys); }
  bool is_run() const noexcept { return keys.back() - keys.front() + 1 == count(); }
};

class EdgeCollector {
 public:
  explicit EdgeCollector(const pattern::BlockLayout& layout) : layout_(layout), view_(layout.view()) {}

  Edges of_group(std::int64_t group) {
    edges_ = {};
    for (auto block = static_cast<std::size_t>(view_.row_begin[group]);
         block < static_cast<std::size_t>(view_.row_begin[group + 1]); ++block) {
      add(layout_.kind[block], std::int64_t{layout_.key_block[block]} * layout_.tile.key);
    }
    if (!has_weights_) {
      edges_.log_weights.clear();
    }
    return std::move(edges_);
  }

 private:
  void add(std::int32_t kind, std::int64_t first) {
    const std::int64_t keys = std::min<std::int64_t>(layout_.tile.key, layout_.key_length - first);
    for (std::int64_t key = 0; key < keys; ++key) {
      const float weight = pattern::is_weighted(kind) ? view_.weight(kind)[key] : 0.0F;
      const bool has_edge = !pattern::is_partial(kind) || ((view_.mask(kind)[key / 64] >> (key % 64)) & 1) != 0;
      if (has_edge && weight > -std::numeric_limits<float>::infinity()) {
        edges_.keys.push_back(first + key);
        edges_.log_weights.push_back(weight);
        has_weights_ = has_weights_ || weight != 0;
      }
    }
  }

  const pattern::BlockLayout& layout_;
  pattern::LayoutView view_;
  Edges edges_;
  bool has_weights_ = false;
};

// The query heads [begin, end) of one batch row, or of all of them.
struct DecodeRun {
  std::int64_t batch_begin;
  std::int64_t batch_end;
  std::int64_t head_begin;
  std::int64_t head_end;
  std::int64_t group;
};

std::vector<DecodeRun> decode_runs(const Call& call) {
  const pattern::BlockLayout& layout = call.layout->blocks();
  const std::int64_t batch = call.query.size(0);
  if (layout.groups == 1) {
    return {{0, batch, 0, layout.heads, 0}};
  }
  std::vector<DecodeRun> runs;
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t head = 0; head < layout.heads; ++head) {
      const std::int64_t group = layout.view().group_of(row, head);
      if (head == 0 || runs.back().group != group) {
        runs.push_back({row, row + 1, head, head, group});
      }
      runs.back().head_end = head + 1;
    }
  }
  return runs;
}

class DecodeProduct {
 public:
  DecodeProduct(const Call& call, const DecodeRun& run, const Edges& edges)
      : call_(call), run_(run), edges_(edges), group_(call.query.size(1) / call.key.size(1)) {
    aligned_ = run.head_begin % group_ == 0 && run.head_end % group_ == 0;
    if (!edges.is_run()) {
      index_ = of_edges(edges.keys, at::kLong);
    }
  }

  PieceInputs inputs(at::ScalarType type) const {
    PieceInputs inputs;
    const at::Tensor query = part(call_.query, run_.head_begin, run_.head_end).to(type);
    inputs.key = without_padding(keys_of(call_.key), keep()).to(type);
    inputs.value = without_padding(keys_of(call_.value), keep()).to(type);
    inputs.query = query.reshape({query.size(0), inputs.key.size(1), -1, query.size(3)});
    inputs.bias = bias();
    inputs.scale = call_.scale;
    return inputs;
  }

 private:
  // [edges] on the device of the query.
  template <typename Number>
  at::Tensor of_edges(const std::vector<Number>& numbers, at::ScalarType dtype) const {
    auto* memory = const_cast<Number*>(numbers.data());  // only read
    return at::from_blob(memory, {edges_.count()}, dtype).to(call_.query.device(), false, true);
  }

  at::Tensor part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) const {
    return tensor.narrow(0, run_.batch_begin, run_.batch_end - run_.batch_begin).narrow(1, begin, end - begin);
  }

  // The keys of the edges along `dimension`: a view where they are neighbours.
  at::Tensor select(const at::Tensor& tensor, std::int64_t dimension) const {
    return index_.defined() ? tensor.index_select(dimension, index_)
                            : tensor.narrow(dimension, edges_.keys.front(), edges_.count());
  }

  at::Tensor keys_of(const at::Tensor& tensor) const {
    if (aligned_) {
      return select(part(tensor, run_.head_begin / group_, run_.head_end / group_), 2);
    }
    const std::int64_t first = run_.head_begin / group_;
    const at::Tensor heads = select(part(tensor, first, (run_.head_end - 1) / group_ + 1), 2);
    return heads.repeat_interleave(group_, 1).narrow(1, run_.head_begin - first * group_,
                                                     run_.head_end - run_.head_begin);
  }

  at::Tensor keep() const {
    if (!call_.key_keep.defined()) {
      return {};
    }
    return select(call_.key_keep.narrow(0, run_.batch_begin, run_.batch_end - run_.batch_begin), 1);
  }

  at::Tensor bias() const {
    const at::TensorOptions options = call_.query.options().dtype(accumulation_type(call_.query));
    at::Tensor bias;
    const auto add = [&bias](const at::Tensor& more) { bias = bias.defined() ? bias + more : more; };
    if (!edges_.log_weights.empty()) {
      add(of_edges(edges_.log_weights, at::kFloat).to(options.dtype()).view({1, 1, 1, -1}));
    }
    if (call_.key_keep.defined()) {
      const at::Tensor kept = keep();
      add(at::zeros(kept.sizes(), options).masked_fill_(kept.logical_not(), -kInfinity).unsqueeze(1).unsqueeze(1));
    }
    if (call_.distances.scores.defined()) {
      add(distance_bias());
    }
    return bias;
  }

  // [1, key heads, query heads of each, keys]: the query heads of a key head are its query rows.
  at::Tensor distance_bias() const {
    const at::Tensor query = at::full({1, 1}, call_.layout->blocks().query_offset, at::kLong);
    const std::int64_t heads = run_.head_end - run_.head_begin;
    const DistanceTable table{call_.distances.scores.narrow(0, run_.head_begin, heads), call_.distances.zero};
    const at::Tensor bias =
        distance_scores(table, query.to(call_.query.device()), of_edges(edges_.keys, at::kLong).unsqueeze(0));
    const std::int64_t key_heads = aligned_ ? heads / group_ : heads;
    return bias.reshape({1, key_heads, -1, edges_.count()});
  }

  const Call& call_;
  DecodeRun run_;
  const Edges& edges_;
  std::int64_t group_;
  bool aligned_;
  at::Tensor index_;  // int64 [edges]; undefined where the keys are neighbours
};

// Writes [R, key heads, query heads of each, C] to the heads of the run.
void store(const at::Tensor& target, const DecodeRun& run, const at::Tensor& values) {
  at::Tensor part = target.narrow(0, run.batch_begin, run.batch_end - run.batch_begin)
                        .narrow(1, run.head_begin, run.head_end - run.head_begin);
  part.copy_(values.reshape(part.sizes()));
}

}  // namespace

bool is_decoding(const Call& call) {
  return !any_is_followed({call.query, call.key, call.value, call.distances.scores}) && call.query.size(2) == 1 &&
         call.query.size(0) > 0 && call.key.size(2) > 0 && call.dropout.probability == 0;
}

Answer edges_take(const Call& call) {
  return Answer::unless(call.positions.queries.defined() || call.relative.query.defined(),
                        "products over the edges of a token have no row positions and no relative term");
}

std::optional<Forward> decode_by(const DecodeProducts& products, const Call& call) {
  Forward result{at::zeros({call.query.size(0), call.query.size(1), 1, call.value.size(3)}, call.query.options()),
                 at::full({call.query.size(0), call.query.size(1), 1}, -kInfinity,
                          call.query.options().dtype(accumulation_type(call.query)))};
  for (const DecodeRun& run : decode_runs(call)) {
    const Edges edges = EdgeCollector(call.layout->blocks()).of_group(run.group);
    if (edges.count() == 0) {
      continue;
    }
    const PieceInputs inputs = DecodeProduct(call, run, edges).inputs(products.dtype(call.query));
    if (!all_finite({inputs.query, inputs.key, inputs.value})) {
      return std::nullopt;
    }
    const PieceForward forward = products.forward(inputs);
    store(result.output, run, forward.output);
    store(result.log_sum_exp, run, forward.log_sum_exp);
  }
  return result;
}

}  // namespace weft::attention
