// SPDX-License-Identifier: Apache-2.0
// Keys and values of the tokens before, so that a new token computes only its own row. Storage grows geometrically:
// appending n tokens one by one copies O(n) rows in total.
#pragma once

#include "weft/attention/state/attention_state.h"

namespace weft::attention {

class KeysAndValues : public AttentionState {
 public:
  explicit KeysAndValues(std::int64_t layer = 0) : AttentionState(layer) {}

  void append(const at::Tensor& keys, const at::Tensor& values) override;
  void advance() override;
  std::unique_ptr<AttentionState> fresh() const override { return std::make_unique<KeysAndValues>(layer_); }
  void reorder(const at::Tensor& rows) override;
  bool keeps_tokens() const override { return true; }
  void truncate(std::int64_t length) override;
  void detach() override;
  std::size_t bytes() const override;
  NamedTensors save() const override;
  void load(const NamedTensors& tensors, std::int64_t length) override;

  /// Those of the first `tokens`, appended ones included: views [B, H_kv, tokens, D], valid until the next append or
  /// reorder, which may move rows in place.
  at::Tensor keys(std::int64_t tokens) const { return keys_.narrow(2, 0, tokens); }
  at::Tensor values(std::int64_t tokens) const { return values_.narrow(2, 0, tokens); }

 private:
  at::Tensor keys_;    // [B, H_kv, capacity, D]
  at::Tensor values_;  // [B, H_kv, capacity, D_v]
};

}  // namespace weft::attention
