// SPDX-License-Identifier: Apache-2.0
// Where a later token changes what layers gave earlier ones, nothing can go on behind what they computed: a model then
// keeps the tokens themselves, and computes the whole text again for each new one.
#pragma once

#include "weft/attention/state/keys_and_values.h"

namespace weft::attention {

/// The ids of a text. A mechanism that cannot go on says so by this state; a model keeps one of them for all layers.
class WholeText final : public KeysAndValues {
 public:
  using KeysAndValues::KeysAndValues;

  /// append() of ids int64 [B, n].
  void append_ids(const at::Tensor& ids);
  /// The first `tokens` ids, appended ones included: int64 [B, tokens].
  at::Tensor ids(std::int64_t tokens) const { return keys(tokens).squeeze(3).squeeze(1); }

  std::unique_ptr<AttentionState> fresh() const override { return std::make_unique<WholeText>(layer_); }
  void limit(std::int64_t tokens) override;
  NamedTensors save() const override;
  void load(const NamedTensors& tensors, std::int64_t length) override;
};

/// Whether `state` is one.
inline bool is_whole_text(const AttentionState& state) { return dynamic_cast<const WholeText*>(&state) != nullptr; }

}  // namespace weft::attention
