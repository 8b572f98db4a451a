// SPDX-License-Identifier: Apache-2.0
// Sparse or full, by the length of the rows.
#include "weft/models/encoder/block_sparse.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/layers/attention/self_attention.h"

namespace weft::models {
namespace {

/// A sparse self-attention, or full attention in a call whose rows are all too short for it.
class ShortFullAttention : public layers::SelfAttentionImpl {
 public:
  /// `full_until`: tokens of the longest row that is computed in full. `zeroes_padding`: queries that are padding give
  /// zeros where the pattern is sparse.
  ShortFullAttention(const layers::BlockConfig& block, const at::TensorOptions& options, std::int64_t full_until,
                     bool zeroes_padding)
      : SelfAttentionImpl(block, options),
        full_until_(full_until),
        zeroes_padding_(zeroes_padding),
        full_(register_module("full_mechanism", attention::make_attention("full", site_of(block), options))) {}

 protected:
  at::Tensor attend(const layers::Heads& heads, const at::Tensor& x, const layers::BlockContext& context) override {
    const attention::AttentionContext& call = context.attention;
    if (longest_row(call, x.size(1)) <= full_until_) {
      return full_->forward(heads.query, heads.key, heads.value, call);
    }
    const at::Tensor mixed = SelfAttentionImpl::attend(heads, x, context);
    return zeroes_padding_ && call.key_keep.defined()
               ? mixed * call.key_keep.to(mixed.scalar_type()).unsqueeze(1).unsqueeze(-1)
               : mixed;
  }

 private:
  static std::int64_t longest_row(const attention::AttentionContext& call, std::int64_t columns) {
    std::int64_t longest = call.rows.empty() ? columns : 0;
    for (const pattern::RowBinding& row : call.rows) {
      longest = std::max(longest, row.query_length.value_or(columns));
    }
    return longest;
  }

  std::int64_t full_until_;
  bool zeroes_padding_;
  std::shared_ptr<attention::AttentionImpl> full_;
};

}  // namespace

std::string block_sparse_pattern(const BlockSparse& attention, std::int64_t layer) {
  if (!attention.sparse) {
    return "full";
  }
  std::string drawn = concat("random(", attention.random, ", plan=\"", attention.plan, "\"");
  // The released code seeds a layer's draws with its number; the plan of Hugging Face's inference has none.
  drawn += attention.plan == "hf-eval" ? ")" : concat(", seed=", layer, ")");
  return concat("block(", attention.block, ", global(first=1, last=1) | window(3) | ", drawn, ")");
}

layers::SelfAttentionFactory short_full_layer(std::int64_t full_until, bool zeroes_padding) {
  return [full_until, zeroes_padding](const layers::BlockConfig& block, const at::TensorOptions& storage) {
    return std::make_shared<ShortFullAttention>(block, storage, full_until, zeroes_padding);
  };
}

layers::SelfAttentionFactory block_sparse_layer(const BlockSparse& attention) {
  return attention.sparse ? short_full_layer(attention.full_until(), attention.zeroes_padding)
                          : layers::SelfAttentionFactory();
}

}  // namespace weft::models
