// SPDX-License-Identifier: Apache-2.0
// What a decoder remembers between calls: the state of each layer's attention, all of them over the same tokens.
#pragma once

#include <memory>
#include <vector>

#include "weft/attention/state/attention_state.h"
#include "weft/layers/memory/segment_memory.h"

namespace weft::layers {

/// One text, or one batch of texts of equal length. Not for several threads at once.
class DecodingState {
 public:
  using Layers = std::vector<std::unique_ptr<attention::AttentionState>>;

  /// Before the first token.
  explicit DecodingState(Layers layers) : layers_(std::move(layers)) {}

  /// Tokens that every layer has taken in; with a memory, the rows that it holds.
  std::int64_t length() const noexcept { return length_; }
  /// Errors: kArgument for a layer that the state was not made for.
  attention::AttentionState& layer(std::int64_t layer);

  /// Counts the n tokens that every layer appended; called once after the last layer. Errors: kArgument where a layer
  /// has others.
  void advance(std::int64_t tokens);
  /// Keeps the layers' inputs, too, for rows that will be compressed. Before the first token. Such a state cannot be
  /// saved or loaded.
  void begin_memory() { memory_ = std::make_unique<SegmentMemory>(); }
  /// Null where it keeps none.
  SegmentMemory* memory() noexcept { return memory_.get(); }
  /// Every layer is as before its first token; the memory stays.
  void forget_tokens();
  /// Row b becomes what row rows[b] was, int64 [B'].
  void reorder(const at::Tensor& rows);
  /// Every layer remembers the last `tokens` only. Errors: kUnsupported where a layer keeps sums over tokens.
  void limit(std::int64_t tokens);
  /// Forgets all tokens from `length` on. Errors, before anything changes: kArgument when `length` exceeds length();
  /// kUnsupported where a layer keeps sums over tokens, for any length but 0 and length(), or with a memory.
  void truncate(std::int64_t length);
  /// Cuts the graph behind what is held.
  void detach();
  /// Bytes of storage held by all layers, spare capacity included.
  std::size_t bytes() const;

  /// `length` (int64, no dimension) and `layers.<n>.<name>` for what the layers hold.
  attention::NamedTensors save() const;
  /// Replaces what is held. Errors: kFormat for tensors that a state of these layers does not give.
  void load(const attention::NamedTensors& tensors);

 private:
  Layers layers_;
  std::int64_t length_ = 0;
  std::unique_ptr<SegmentMemory> memory_;
};

}  // namespace weft::layers
