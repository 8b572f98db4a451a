// SPDX-License-Identifier: Apache-2.0
// What goes from block to block: a text, and the companions that its layers carry in front of it.
#pragma once

#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>

namespace weft::layers {

/// A text [B, N, hidden] and its companions [B, G, hidden], rows at no position of the text; most models have none.
/// Both stay in the form in which they came, two tensors or one, until somebody asks for the other.
class Rows {
 public:
  Rows() = default;
  /// A text without companions.
  Rows(at::Tensor text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor): most blocks know no other
  Rows(at::Tensor companions, at::Tensor text)
      : text_(std::move(text)), companions_(std::move(companions)), count_(companions_.size(1)) {}
  /// The two in one tensor [B, count + N, hidden], the companions first.
  static Rows joined(at::Tensor both, std::int64_t count);

  /// [B, N, hidden].
  at::Tensor text() const;
  /// [B, G, hidden]; undefined where there are none.
  at::Tensor companions() const;
  /// [B, G + N, hidden].
  at::Tensor both() const;
  /// G.
  std::int64_t count() const noexcept { return count_; }

 private:
  at::Tensor text_;
  at::Tensor companions_;
  at::Tensor both_;  // in place of the two
  std::int64_t count_ = 0;
};

}  // namespace weft::layers
