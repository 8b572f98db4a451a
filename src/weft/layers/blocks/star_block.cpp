// SPDX-License-Identifier: Apache-2.0
// Five keys a satellite: the kernels of a CPU, or sums over columns in place of products of matrices.
#include "weft/layers/blocks/star_block.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "weft/attention/accumulation.h"
#include "weft/attention/mechanisms/row_lengths.h"
#include "weft/core/error.h"
#include "weft/layers/blocks/ring_attention.h"
#include "weft/layers/replay/recompute.h"

namespace weft::layers {
namespace {

/// Keys and values [B, N, H, D].
struct StarKeys {
  at::Tensor keys;
  at::Tensor values;
};

/// Of rows [B, N, 2 H D].
StarKeys star_keys(const at::Tensor& rows, std::int64_t heads) {
  const std::vector<at::Tensor> halves = rows.unflatten(-1, {2 * heads, -1}).chunk(2, -2);
  return {halves[0], halves[1]};
}

at::Tensor without_rows(const at::Tensor& tensor, const at::Tensor& padding) {
  return padding.defined() ? tensor.masked_fill(padding.view({tensor.size(0), tensor.size(1), 1, 1}), 0.0) : tensor;
}

/// Row i of the result is row i + shift (1 or -1), zeros beyond the ends.
at::Tensor neighbours(const at::Tensor& rows, std::int64_t shift) {
  const at::Tensor padded = at::constant_pad_nd(rows, {0, 0, 0, 0, 1, 1});
  return padded.narrow(1, 1 + shift, rows.size(1));
}

/// softmax over the entries of `seen`, each a key and a value for every query [B, N, H, D] -> [B, N, H D]. Sums are in
/// float32 for half types.
at::Tensor attend_to_few(const at::Tensor& queries, const std::vector<StarKeys>& seen) {
  const at::ScalarType type = attention::accumulation_type(queries);
  const at::Tensor scaled = queries.to(type) / std::sqrt(static_cast<double>(queries.size(-1)));
  std::vector<at::Tensor> scores;
  scores.reserve(seen.size());
  for (const StarKeys& one : seen) {
    scores.push_back((scaled * one.keys).sum(-1));
  }
  const at::Tensor weights = at::softmax(at::stack(scores, -1), -1);  // [B, N, H, seen]
  at::Tensor sum;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const at::Tensor part = weights.narrow(-1, static_cast<std::int64_t>(i), 1) * seen[i].values;
    sum = sum.defined() ? sum + part : part;
  }
  return sum.to(queries.scalar_type()).flatten(2);
}

/// ring_attention() by operators over whole tensors, for every device and dtype.
at::Tensor ring_by_operators(const RingRows& rows, std::int64_t heads) {
  StarKeys own = star_keys(rows.own, heads);
  own = {without_rows(own.keys, rows.padding), without_rows(own.values, rows.padding)};
  const auto at_side = [&own](std::int64_t shift) {
    return StarKeys{neighbours(own.keys, shift), neighbours(own.values, shift)};
  };
  return attend_to_few(rows.queries.unflatten(-1, {heads, -1}),
                       {at_side(-1), own, at_side(1), star_keys(rows.text, heads), star_keys(rows.relay, heads)});
}

/// What every layer is told of a text: its embeddings [B, N, hidden], zeros at padding, and bool [B, N], true at
/// padding, or undefined.
struct StarText : attention::CompanionStructure {
  at::Tensor embeddings;
  at::Tensor padding;
};

const StarText& text_of(const BlockContext& context) {
  const auto* const text = dynamic_cast<const StarText*>(context.attention.structure.get());
  require(text != nullptr, "a layer of a Star-Transformer was told of no embeddings: block 0 prepares the context");
  return *text;
}

/// The relay begins as the mean of the tokens.
class MeanRelay : public CompanionSource {
 public:
  explicit MeanRelay(std::int64_t width) : width_(width) {}

  Rows first(const at::Tensor& text, const CompanionInput*, BlockContext& context) override {
    require(text.dim() == 3 && text.size(1) > 0 && text.size(2) == width_ && text.is_floating_point(),
            "a Star-Transformer of width ", width_, " takes floating embeddings [batch, tokens, ", width_, "], found ",
            text.scalar_type(), ' ', text.sizes());
    const at::Tensor keep = attention::kept_keys(context.attention, text.unsqueeze(1));
    require(!keep.defined() || (keep.scalar_type() == at::kBool && keep.sizes() == text.sizes().slice(0, 2)),
            "a Star-Transformer takes a mask bool ", text.sizes().slice(0, 2), ", found ",
            keep.defined() ? keep.scalar_type() : at::kBool, ' ', keep.defined() ? keep.sizes() : at::IntArrayRef());
    const auto told = std::make_shared<StarText>();
    told->padding = keep.defined() ? keep.logical_not() : keep;
    told->embeddings = keep.defined() ? text.masked_fill(told->padding.unsqueeze(-1), 0.0) : text;
    context.attention.companions = 1;
    context.attention.structure = told;
    const at::Tensor& tokens = told->embeddings;
    const at::Tensor mean =
        keep.defined() ? tokens.sum(1) / keep.sum(1, true).clamp_min(1).to(tokens.scalar_type()) : tokens.mean(1);
    return {mean.unsqueeze(1), tokens};
  }
  bool gives_result() const override { return true; }

 private:
  std::int64_t width_;
};

}  // namespace

StarAttentionImpl::StarAttentionImpl(const BlockConfig& config, const at::TensorOptions& options) {
  const std::int64_t columns = config.heads * config.head_dim();
  query = register_module("query", Linear(config.hidden_size, columns, true, options));
  key_value = register_module("key_value", Linear(config.hidden_size, 2 * columns, true, options));
  output = register_module("output", Linear(columns, config.hidden_size, true, options));
}

StarBlockImpl::StarBlockImpl(const BlockConfig& config, const at::TensorOptions& options) : heads_(config.heads) {
  require(config.hidden_size > 0 && config.heads > 0 && config.head_dim() > 0,
          "a Star-Transformer needs a width, heads and columns of a head of at least 1, found ", config.hidden_size,
          ", ", config.heads, " and ", config.heads > 0 ? config.head_dim() : 0);
  norm = register_module("norm", Norm(config.hidden_size, config.norm, options));
  ring = register_module("ring", StarAttention(config, options));
  relay = register_module("relay", StarAttention(config, options));
}

CompanionFactory StarBlockImpl::companions() const {
  return [](torch::nn::Module&, std::int64_t hidden, const at::TensorOptions&) {
    return std::make_unique<MeanRelay>(hidden);
  };
}

at::Tensor StarBlockImpl::next_satellites(const Rows& nodes, const at::Tensor& embeddings, const at::Tensor& padding) {
  const at::Tensor x = norm(nodes.text());
  const RingRows rows{ring->query(x), ring->key_value(x), ring->key_value(embeddings),
                      ring->key_value(nodes.companions()), padding};
  const at::Tensor seen = takes_ring(rows, heads_) ? ring_attention(rows, heads_) : ring_by_operators(rows, heads_);
  const at::Tensor satellites = at::leaky_relu(ring->output(seen));
  return padding.defined() ? satellites.masked_fill(padding.unsqueeze(-1), 0.0) : satellites;
}

at::Tensor StarBlockImpl::next_relay(const Rows& nodes, const at::Tensor& padding) {
  const at::Tensor before = nodes.companions();
  const StarKeys seen = star_keys(relay->key_value(Rows(before, nodes.text().to(before.scalar_type())).both()), heads_);
  const at::Tensor queries = relay->query(before).unflatten(-1, {heads_, -1});  // [B, 1, H, D]
  const at::ScalarType type = attention::accumulation_type(queries);
  at::Tensor scores = (queries.to(type) * seen.keys).sum(-1) / std::sqrt(static_cast<double>(queries.size(-1)));
  if (padding.defined()) {
    const at::Tensor hidden = at::constant_pad_nd(padding, {1, 0});  // the relay itself is seen
    scores = scores.masked_fill(hidden.unsqueeze(-1), -std::numeric_limits<double>::infinity());
  }
  const at::Tensor sum = (at::softmax(scores, 1).unsqueeze(-1) * seen.values).sum(1, true);  // [B, 1, H, D]
  return at::leaky_relu(relay->output(sum.to(queries.scalar_type()).flatten(2)));
}

Rows StarBlockImpl::forward(const Rows& x, const BlockContext& context) {
  const StarText& text = text_of(context);
  at::Tensor satellites = next_satellites(x, text.embeddings, text.padding);
  at::Tensor relay_behind = next_relay({x.companions(), satellites}, text.padding);
  return {std::move(relay_behind), std::move(satellites)};
}

Rows StarBlockImpl::recomputed(const Rows& x, const BlockContext& context) {
  const StarText& text = text_of(context);
  const auto self = std::static_pointer_cast<StarBlockImpl>(shared_from_this());
  std::vector<at::Tensor> leaves = ring->parameters();
  for (const at::Tensor& parameter : norm->parameters()) {
    leaves.push_back(parameter);
  }
  leaves.push_back(text.embeddings);
  // One tensor of both kinds of nodes is kept for each part.
  const auto of_ring = [self, embeddings = text.embeddings, padding = text.padding](const at::Tensor& both) {
    return self->next_satellites(Rows::joined(both, 1), embeddings, padding);
  };
  at::Tensor satellites = recompute(of_ring, x.both(), leaves);
  const auto of_relay = [self, padding = text.padding](const at::Tensor& both) {
    return self->next_relay(Rows::joined(both, 1), padding);
  };
  at::Tensor relay_behind = recompute(of_relay, Rows(x.companions(), satellites).both(), relay->parameters());
  return {std::move(relay_behind), std::move(satellites)};
}

BlockFactory star_block() {
  return [](const BlockConfig& config, const at::TensorOptions& options) {
    return std::make_shared<StarBlockImpl>(config, options);
  };
}

}  // namespace weft::layers
