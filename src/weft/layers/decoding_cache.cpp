// SPDX-License-Identifier: Apache-2.0
// The key/value cache of a decoder.
#include "weft/layers/decoding_cache.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft::layers {
namespace {

constexpr std::int64_t kSmallestCapacity = 64;

void check_fits(const at::Tensor& held, const at::Tensor& added, std::int64_t layer) {
  const bool same_heads = added.dim() == 4 && held.size(0) == added.size(0) && held.size(1) == added.size(1) &&
                          held.size(3) == added.size(3);
  require(same_heads, "decoding cache, layer ", layer, ": holds [batch, heads, tokens, head_dim] = ", held.sizes(),
          ", cannot append ", added.sizes());
  require(held.scalar_type() == added.scalar_type() && held.device() == added.device(), "decoding cache, layer ", layer,
          ": holds ", held.scalar_type(), " on ", held.device(), ", cannot append ", added.scalar_type(), " on ",
          added.device());
}

/// Makes room for `needed` tokens, of which the first `length` are kept.
void reserve(at::Tensor& held, const at::Tensor& added, std::int64_t length, std::int64_t needed) {
  if (held.defined() && held.size(2) >= needed) {
    return;
  }
  // Doubling keeps the copies of n appended tokens at O(n) rows in total.
  const std::int64_t capacity = std::max({needed, kSmallestCapacity, held.defined() ? 2 * held.size(2) : 0});
  at::Tensor grown = at::empty({added.size(0), added.size(1), capacity, added.size(3)}, added.options());
  if (length > 0) {
    grown.narrow(2, 0, length).copy_(held.narrow(2, 0, length));
  }
  held = std::move(grown);
}

at::Tensor append_to(at::Tensor& held, const at::Tensor& added, std::int64_t length) {
  const std::int64_t needed = length + added.size(2);
  reserve(held, added, length, needed);
  // The view that is returned stays valid until reserve() moves the storage: until the next append.
  held.narrow(2, length, added.size(2)).copy_(added);
  return held.narrow(2, 0, needed);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> DecodingCache::append(std::int64_t layer, const at::Tensor& keys,
                                                        const at::Tensor& values) {
  if (layers_.size() <= static_cast<std::size_t>(layer)) {
    layers_.resize(static_cast<std::size_t>(layer) + 1);
  }
  // length_ stands still until advance(), so that every layer appends at the same place.
  Layer& held = layers_[static_cast<std::size_t>(layer)];
  if (held.keys.defined() && length_ == 0) {
    held = {};  // another batch may follow after truncate(0)
  }
  require(held.keys.defined() || length_ == 0, "decoding cache: layer ", layer, " holds nothing of the first ", length_,
          " tokens");
  if (held.keys.defined()) {
    check_fits(held.keys, keys, layer);
    check_fits(held.values, values, layer);
  }
  return {append_to(held.keys, keys, length_), append_to(held.values, values, length_)};
}

void DecodingCache::advance(std::int64_t tokens) {
  for (const Layer& layer : layers_) {
    require(layer.keys.defined() && layer.keys.size(2) >= length_ + tokens,
            "decoding cache: a layer lacks tokens to advance over");
  }
  length_ += tokens;
}

void DecodingCache::truncate(std::int64_t length) {
  require(length >= 0 && length <= length_, "decoding cache: cannot cut ", length_, " tokens to ", length);
  length_ = length;
}

std::size_t DecodingCache::bytes() const {
  std::size_t total = 0;
  for (const Layer& layer : layers_) {
    total += layer.keys.defined() ? layer.keys.nbytes() + layer.values.nbytes() : 0;
  }
  return total;
}

}  // namespace weft::layers
