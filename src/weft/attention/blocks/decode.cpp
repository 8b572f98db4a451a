// SPDX-License-Identifier: Apache-2.0
// Heads that share a layout go in one product; the query heads of a key head become its query rows, so that grouped
// keys are not repeated.
#include "weft/attention/blocks/decode.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "weft/attention/blocks/bias.h"
#include "weft/attention/blocks/products.h"
#include "weft/attention/tensors.h"

namespace weft::attention {
namespace {

// The query heads [begin, end) of one batch row, or of all of them.
struct DecodeRun {
  std::int64_t batch_begin;
  std::int64_t batch_end;
  std::int64_t head_begin;
  std::int64_t head_end;
  const RowBatch* rows;
  std::int64_t group;
};

std::vector<DecodeRun> decode_runs(const Call& call) {
  const pattern::BlockLayout& layout = call.layout->blocks();
  const std::int64_t batch = call.query.size(0);
  const auto rows_of = [&call](std::int64_t group) {
    const auto& batches = call.layout->plan().groups[static_cast<std::size_t>(group)];
    return batches.empty() ? nullptr : batches.data();
  };
  if (layout.groups == 1) {
    return {{0, batch, 0, layout.heads, rows_of(0), 0}};
  }
  std::vector<DecodeRun> runs;
  for (std::int64_t row = 0; row < batch; ++row) {
    for (std::int64_t head = 0; head < layout.heads; ++head) {
      const std::int64_t group = layout.view().group_of(row, head);
      if (head == 0 || runs.back().group != group) {
        runs.push_back({row, row + 1, head, head, rows_of(group), group});
      }
      runs.back().head_end = head + 1;
    }
  }
  return runs;
}

class DecodeProduct {
 public:
  DecodeProduct(const Call& call, const DecodeRun& run)
      : call_(call), layout_(call.layout->blocks()), run_(run), group_(call.query.size(1) / call.key.size(1)) {
    aligned_ = run.head_begin % group_ == 0 && run.head_end % group_ == 0;
  }

  PieceInputs inputs() const {
    PieceInputs inputs;
    const at::ScalarType type = call_.query.is_cpu() ? fused_type(call_.query) : accumulation_type(call_.query);
    const at::Tensor query = part(call_.query, run_.head_begin, run_.head_end).to(type);
    inputs.key = without_padding(keys_of(call_.key), keep()).to(type);
    inputs.value = without_padding(keys_of(call_.value), keep()).to(type);
    inputs.query = query.reshape({query.size(0), inputs.key.size(1), -1, query.size(3)});
    inputs.bias = bias();
    inputs.scale = call_.scale;
    return inputs;
  }

 private:
  at::Tensor part(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) const {
    return tensor.narrow(0, run_.batch_begin, run_.batch_end - run_.batch_begin).narrow(1, begin, end - begin);
  }

  // The tokens of the run's key blocks along `dimension`: a view where the blocks are neighbours.
  at::Tensor tokens_of(const at::Tensor& tensor, std::int64_t dimension) const {
    const Piece piece{&layout_, run_.rows, {run_.group, 0, 1}, 0, 1, false};
    const std::int32_t* blocks = layout_.key_block.data() + piece.block_begin(0);
    std::vector<at::Tensor> pieces;
    for (std::int64_t first = 0; first < run_.rows->width;) {
      std::int64_t next = first + 1;
      while (next < run_.rows->width && blocks[next] == blocks[next - 1] + 1) {
        ++next;
      }
      const std::int64_t begin = std::int64_t{blocks[first]} * layout_.tile.key;
      const std::int64_t end = std::min((std::int64_t{blocks[next - 1]} + 1) * layout_.tile.key, layout_.key_length);
      pieces.push_back(tensor.narrow(dimension, begin, end - begin));
      first = next;
    }
    return pieces.size() == 1 ? pieces.front() : at::cat(pieces, dimension);
  }

  at::Tensor keys_of(const at::Tensor& tensor) const {
    if (aligned_) {
      return tokens_of(part(tensor, run_.head_begin / group_, run_.head_end / group_), 2);
    }
    const std::int64_t first = run_.head_begin / group_;
    const at::Tensor heads = tokens_of(part(tensor, first, (run_.head_end - 1) / group_ + 1), 2);
    return heads.repeat_interleave(group_, 1).narrow(1, run_.head_begin - first * group_,
                                                     run_.head_end - run_.head_begin);
  }

  at::Tensor keep() const {
    if (!call_.key_keep.defined()) {
      return {};
    }
    return tokens_of(call_.key_keep.narrow(0, run_.batch_begin, run_.batch_end - run_.batch_begin), 1);
  }

  at::Tensor bias() const {
    const at::TensorOptions options = call_.query.options().dtype(accumulation_type(call_.query));
    const Piece piece{&layout_, run_.rows, {run_.group, 0, 1}, 0, 1, false};
    at::Tensor bias = layout_bias(piece, options);
    const at::Tensor kept = keep();
    if (bias.defined()) {
      // Only the last block can reach beyond the keys.
      bias = bias.narrow(2, 0, 1).narrow(3, 0, tokens_of(call_.key, 2).size(2));
    }
    if (kept.defined()) {
      const at::Tensor padding = at::zeros(kept.sizes(), options).masked_fill_(kept.logical_not(), -kInfinity);
      const at::Tensor by_row = padding.unsqueeze(1).unsqueeze(1);
      bias = bias.defined() ? bias + by_row : by_row;
    }
    if (call_.slopes.defined()) {
      const at::Tensor by_head = slope_bias_of_heads();
      bias = bias.defined() ? bias + by_head : by_head;
    }
    return bias;
  }

  // [1, key heads, query heads of each, keys]: the query heads of a key head are its query rows.
  at::Tensor slope_bias_of_heads() const {
    const Piece heads{&layout_, run_.rows, {run_.group, run_.head_begin, run_.head_end}, 0, 1, false};
    const at::Tensor bias = slope_bias(heads, call_.slopes, accumulation_type(call_.query));
    const std::int64_t key_heads =
        aligned_ ? (run_.head_end - run_.head_begin) / group_ : run_.head_end - run_.head_begin;
    // Only the first of a tile's query rows exists, and only the last block can reach beyond the keys.
    const at::Tensor existing = bias.narrow(2, 0, 1).narrow(3, 0, tokens_of(call_.key, 2).size(2));
    return existing.reshape({1, key_heads, -1, existing.size(3)});
  }

  const Call& call_;
  const pattern::BlockLayout& layout_;
  DecodeRun run_;
  std::int64_t group_;
  bool aligned_;
};

// Writes [R, key heads, query heads of each, C] to the heads of the run.
void store(const at::Tensor& target, const DecodeRun& run, const at::Tensor& values) {
  at::Tensor part = target.narrow(0, run.batch_begin, run.batch_end - run.batch_begin)
                        .narrow(1, run.head_begin, run.head_end - run.head_begin);
  part.copy_(values.reshape(part.sizes()));
}

}  // namespace

bool is_decoding(const Call& call) {
  const bool recorded = at::GradMode::is_enabled() &&
                        (call.query.requires_grad() || call.key.requires_grad() || call.value.requires_grad());
  return !recorded && call.query.size(2) == 1 && call.query.size(0) > 0 && call.key.size(2) > 0 &&
         call.dropout.probability == 0;
}

std::optional<Forward> decode_forward(const Call& call) {
  Forward result{at::zeros({call.query.size(0), call.query.size(1), 1, call.value.size(3)}, call.query.options()),
                 at::full({call.query.size(0), call.query.size(1), 1}, -kInfinity,
                          call.query.options().dtype(accumulation_type(call.query)))};
  const bool is_flash = call.query.is_cpu() && call.query.size(3) == call.value.size(3);
  for (const DecodeRun& run : decode_runs(call)) {
    if (run.rows == nullptr) {
      continue;
    }
    const PieceInputs inputs = DecodeProduct(call, run).inputs();
    if (!all_finite(inputs.query) || !all_finite(inputs.key) || !all_finite(inputs.value)) {
      return std::nullopt;
    }
    const PieceForward forward = is_flash ? flash_forward(inputs) : portable_forward(inputs);
    store(result.output, run, forward.output);
    store(result.log_sum_exp, run, forward.log_sum_exp);
  }
  return result;
}

}  // namespace weft::attention
