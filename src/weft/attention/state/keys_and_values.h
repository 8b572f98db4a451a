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
  std::unique_ptr<AttentionState> fresh() const override;
  void reorder(const at::Tensor& rows) override;
  void limit(std::int64_t tokens) override;
  bool keeps_tokens() const override { return kept_ == length_; }
  void truncate(std::int64_t length) override;
  void detach() override;
  std::size_t bytes() const override;
  NamedTensors save() const override;
  void load(const NamedTensors& tensors, std::int64_t length) override;

  /// Tokens that count and are remembered: all of length(), or the last ones where there is a limit.
  std::int64_t kept() const noexcept { return kept_; }
  /// Those of the first `tokens` that are remembered, appended ones included: views [B, H_kv, tokens, D], valid until
  /// the next append or reorder, which may move rows in place.
  at::Tensor keys(std::int64_t tokens) const { return keys_.narrow(2, first_, tokens); }
  at::Tensor values(std::int64_t tokens) const { return values_.narrow(2, first_, tokens); }

 private:
  void make_room(const at::Tensor& keys, const at::Tensor& values);

  std::int64_t limit_ = 0;  // 0: none
  std::int64_t first_ = 0;  // place of the first remembered token in the storage
  std::int64_t kept_ = 0;
  at::Tensor keys_;    // [B, H_kv, capacity, D]
  at::Tensor values_;  // [B, H_kv, capacity, D_v]
};

}  // namespace weft::attention
