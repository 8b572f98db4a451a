// SPDX-License-Identifier: Apache-2.0
// What is the same in every kind of block, or missing in most.
#include "weft/layers/blocks/block.h"

#include <utility>

#include "weft/core/error.h"
#include "weft/layers/blocks/companion_block.h"
#include "weft/layers/blocks/compressive_block.h"
#include "weft/layers/blocks/packed_block.h"
#include "weft/layers/blocks/plain_block.h"
#include "weft/layers/blocks/summed_block.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

[[noreturn]] void has_no(const BlockImpl& block, const char* what) {
  fail(ErrorKind::kUnsupported, "a block of `", block.description(), "` has no ", what);
}

SelfAttention make_self_attention(const BlockConfig& config, const at::TensorOptions& options) {
  return config.self_attention ? SelfAttention(config.self_attention(config, options)) : SelfAttention(config, options);
}

}  // namespace

Rows BlockImpl::recomputed(const Rows& x, const BlockContext& context) {
  std::vector<at::Tensor> leaves = parameters();
  for (const at::Tensor& shared : shared_parameters()) {
    leaves.push_back(shared);
  }
  if (context.source != nullptr) {
    leaves.push_back(context.source->hidden);
  }
  // Block and context are copied into the closure: it runs again in the backward pass, long after this call. Weights
  // that are handed out hold the graph, which must not hold them.
  BlockContext again = context;
  again.weights = nullptr;
  again.attention.choices = std::make_shared<attention::AttentionChoices>();
  const auto self = std::static_pointer_cast<BlockImpl>(shared_from_this());
  const std::int64_t count = x.count();
  const auto run = [self, again, count](const at::Tensor& both) {
    return self->forward(Rows::joined(both, count), again).both();
  };
  return Rows::joined(recompute(run, x.both(), leaves), count);
}

ReversibleLayer BlockImpl::reversible(const BlockContext&) { has_no(*this, "place in reversible layers"); }

void BlockImpl::share(BlockImpl&) {}

std::vector<at::Tensor> BlockImpl::shared_parameters() const { return {}; }

bool BlockImpl::needs_input() const { return false; }

CompanionFactory BlockImpl::companions() const { return {}; }

std::unique_ptr<attention::AttentionState> BlockImpl::initial_state() const { has_no(*this, "state between calls"); }

void BlockImpl::remember(const at::Tensor&, attention::AttentionState&) { has_no(*this, "memory"); }

SourceHeads BlockImpl::source_heads(const at::Tensor&) { has_no(*this, "cross-attention"); }

at::Tensor BlockImpl::compressed(const at::Tensor&) { has_no(*this, "compression"); }

at::Tensor BlockImpl::compression_loss(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  has_no(*this, "compression");
}

Block make_block(const BlockConfig& config, const at::TensorOptions& options) {
  if (config.make) {
    return config.make(config, options);
  }
  SelfAttention attention = make_self_attention(config, options);
  if (attention->latents() > 0) {
    return std::make_shared<PackedBlockImpl>(config, std::move(attention), options);
  }
  if (attention->has_companions()) {
    return std::make_shared<CompanionBlockImpl>(config, std::move(attention), options);
  }
  if (attention->summed_block() > 0) {
    return std::make_shared<SummedBlockImpl>(config, std::move(attention), options);
  }
  if (config.compression) {
    return std::make_shared<CompressiveBlockImpl>(config, std::move(attention), options);
  }
  return std::make_shared<PlainBlockImpl>(config, std::move(attention), options);
}

}  // namespace weft::layers
