// SPDX-License-Identifier: Apache-2.0
// Mechanisms: one string names how a layer attends, in configs, on the command line and in Python. The table of names
// is here; a string that starts with none of them is a pattern expression.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/attention.h"
#include "weft/attention/mechanism_site.h"

namespace weft::attention {

class AttentionImpl : public torch::nn::Module {
 public:
  /// query [B, H, Q, D], key and value [B, H_kv, K, D] -> [B, H, Q, D].
  virtual at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const AttentionContext& context) = 0;
  /// The canonical string of what is computed, `causal &` included.
  virtual std::string description() const = 0;
  /// The files that the expression names, for whoever saves the config elsewhere.
  virtual std::vector<pattern::PatternFile> files() const { return {}; }
};

/// Builds the mechanism that `expression` names. Errors: kExpression with a caret, and those of a file that it names,
/// as Pattern::parse.
std::shared_ptr<AttentionImpl> make_attention(const std::string& expression, const MechanismSite& site);

/// The same for a pattern that is parsed, or built in C++ (pattern/build.h). `site.directory` is not looked at. Errors:
/// as Pattern::check().
std::shared_ptr<AttentionImpl> make_attention(const pattern::Pattern& pattern, const MechanismSite& site);

}  // namespace weft::attention
