// SPDX-License-Identifier: Apache-2.0
// The rows of blocks come as a memory does: keys and values alone.
#include "weft/layers/blocks/summed_block.h"

#include <memory>
#include <utility>

#include "weft/attention/mechanisms/transient_global/text_blocks.h"

namespace weft::layers {

SummedBlockImpl::SummedBlockImpl(const BlockConfig& config, SelfAttention self_attention,
                                 const at::TensorOptions& options)
    : AttentionBlockImpl(config, std::move(self_attention), options),
      side_norm(add_norm("side_norm", config, options)) {
  add_feed_forward(config, options);
}

Rows SummedBlockImpl::forward(const Rows& x, const BlockContext& context) {
  const at::Tensor text = seen(x.text(), attention_norm);
  const auto blocks = std::make_shared<const attention::TextBlocks>(
      attention::text_blocks(context.attention, text, attention->summed_block()));
  BlockContext with_blocks = context;
  with_blocks.attention.structure = blocks;
  const at::Tensor sums = blocks->count > 0 ? side_norm(blocks->sums(text)) : at::Tensor();
  at::Tensor given = attention->forward(text, with_blocks, sums);
  return fed(added(x.text(), std::move(given), {attention_norm, kAttentionSite}, context), context);
}

}  // namespace weft::layers
