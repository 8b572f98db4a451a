// SPDX-License-Identifier: Apache-2.0
// Attention for programs that build no models: an expression or a pattern, called with query, key and value. Its
// headers compile in 3 s, where those of torch::nn::Module take 13 s.
#pragma once

#include <memory>
#include <string>

#include "weft/attention/attention.h"
#include "weft/attention/context.h"
#include "weft/attention/mechanisms/spec.h"

namespace weft::attention {

class AttentionImpl;

/// attention() by a name that is not the name of its namespace: with `using namespace weft`, say attend().
inline AttentionResult attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              const LayoutPtr& layout, const AttentionOptions& options = {}) {
  return attention(query, key, value, layout, options);
}

/// A mechanism ready to be called; copies share it. It drops nothing out: a model in training holds a module of
/// mechanism.h.
class Attend {
 public:
  /// The mechanism that `expression` names. Errors: as make_attention().
  explicit Attend(const std::string& expression, const MechanismSite& site);
  /// A pattern that is parsed, or built in C++. Errors: as Pattern::check().
  explicit Attend(const pattern::Pattern& pattern, const MechanismSite& site);

  /// query [B, H, Q, D], key and value [B, H_kv, K, D], any strides and floating dtype, on one device -> [B, H, Q, D],
  /// differentiable. Errors: as attention().
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                        const AttentionContext& context = {}) const;

  /// The canonical string of what is computed, `causal &` included.
  std::string description() const;
  /// The module behind it, for whoever registers it in a model. It is shared: train() on that model turns dropout on in
  /// every copy.
  const std::shared_ptr<AttentionImpl>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<AttentionImpl> impl_;
};

}  // namespace weft::attention
