// SPDX-License-Identifier: Apache-2.0
// Mechanisms: one string names how a layer attends, in configs, on the command line and in Python. The table of names
// is here; a string that starts with none of them is a pattern expression.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/attention.h"

namespace weft::attention {

/// What differs from call to call. A model passes it on and never asks which mechanism it has.
struct AttentionContext {
  at::Tensor key_keep;                    ///< bool [B, K], false marks a padded key; undefined keeps all
  std::vector<pattern::RowBinding> rows;  ///< positions bound to `input` and lengths, one a batch row; empty when none
  std::int64_t query_offset = 0;          ///< position of the first query; keys start at position 0
  std::uint64_t seed = 0;                 ///< of the dropout in this call; the layer mixes in its number
};

/// What is fixed when a layer is built.
struct MechanismSite {
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t layer = 0;
  std::int64_t maximum_length = 0;
  bool causal = false;   ///< a decoder: the mechanism must not see the future; a pattern is intersected with `causal`
  double dropout = 0.0;  ///< on the attention probabilities while training
  bool alibi = false;    ///< distance takes from scores, with the slopes of alibi_slopes()
  std::filesystem::path directory = {};  ///< of the config: files that the expression names lie below it
};

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

}  // namespace weft::attention
