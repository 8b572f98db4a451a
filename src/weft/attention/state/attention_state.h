// SPDX-License-Identifier: Apache-2.0
// What the attention of one layer remembers of the tokens before a call: keys and values, or sums of them. Generation
// and recurrence see this interface alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/core/error.h"

namespace weft::attention {

/// For a checkpoint.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// One text, or one batch of texts of equal length. Not for several threads at once.
class AttentionState {
 public:
  virtual ~AttentionState() = default;

  /// Tokens that it has taken in.
  std::int64_t length() const noexcept { return length_; }

  /// Takes what the mechanism makes of n tokens, [B, H_kv, n, columns] each, behind the first length() tokens. They
  /// count from advance() on, so that a call that fails in a later layer leaves every layer as it was. Errors:
  /// kArgument when sizes, dtype or device differ from what is held.
  virtual void append(const at::Tensor& keys, const at::Tensor& values) = 0;
  /// Tokens that were appended last and do not count yet.
  std::int64_t pending() const noexcept { return pending_; }
  /// Counts them.
  virtual void advance() = 0;
  /// A state of the same kind and layer before the first token.
  virtual std::unique_ptr<AttentionState> fresh() const = 0;
  /// Row b becomes what row rows[b] was, int64 [B']: the texts that a beam search keeps, some of them twice.
  virtual void reorder(const at::Tensor& rows) = 0;
  /// Whether every single token is kept, so that the last ones can be forgotten.
  virtual bool keeps_tokens() const = 0;
  /// Remembers the last `tokens` only, from the next tokens that count on: a memory of bounded size. Errors:
  /// kUnsupported where single tokens are not kept.
  virtual void limit(std::int64_t tokens) = 0;
  /// Forgets all tokens from `length` on. Errors: kArgument when `length` exceeds length(); kUnsupported where single
  /// tokens are not kept, for any length but 0 and length().
  virtual void truncate(std::int64_t length) = 0;
  /// Cuts the graph behind what is held.
  virtual void detach() = 0;
  /// Bytes of storage held, spare capacity included.
  virtual std::size_t bytes() const = 0;
  /// What load() needs beside length(); nothing before the first token.
  virtual NamedTensors save() const = 0;
  /// Replaces what is held by `tensors` of `length` tokens. Errors: kFormat for tensors that save() does not give.
  virtual void load(const NamedTensors& tensors, std::int64_t length) = 0;

 protected:
  /// `layer` is for messages.
  explicit AttentionState(std::int64_t layer) : layer_(layer) {}
  AttentionState(const AttentionState&) = default;
  AttentionState& operator=(const AttentionState&) = default;

  std::int64_t layer_;
  std::int64_t length_ = 0;
  std::int64_t pending_ = 0;
};

/// `state` as the kind that a mechanism works with. Errors: kArgument for that of another mechanism.
template <typename Kind>
Kind& state_as(AttentionState& state) {
  auto* const kind = dynamic_cast<Kind*>(&state);
  require(kind != nullptr, "attention: the state was made for another mechanism");
  return *kind;
}

}  // namespace weft::attention
