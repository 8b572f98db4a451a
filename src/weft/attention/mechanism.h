// SPDX-License-Identifier: Apache-2.0
// Mechanisms: one string names how a layer attends, in configs, on the command line and in Python. A string that begins
// with none of the registry's names (mechanisms/registry.cpp) is a pattern expression.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/context.h"
#include "weft/attention/mechanisms/spec.h"
#include "weft/attention/state/attention_state.h"

namespace weft::attention {

/// Dropout on the probabilities of one call of a layer.
struct DropoutOfCall {
  double probability = 0;  ///< 0: nothing is dropped out
  DropoutSeed seed;        ///< made of that of the call, for this layer; unused where nothing is dropped out
};

class AttentionImpl : public torch::nn::Module {
 public:
  /// `spec` as at_site() gives it.
  AttentionImpl(MechanismSpec spec, const MechanismSite& site) : spec_(std::move(spec)), site_(site) {}

  /// query [B, H, Q, D], key and value [B, H_kv, K, D] -> [B, H, Q, D].
  virtual at::Tensor forward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const AttentionContext& context) = 0;

  /// The weights [B, H, Q, K] with which forward() mixes the values, without dropout; zeros where there is no edge.
  /// What forward() makes of the columns of the identity, so that every mechanism has them, with gradients. The result
  /// is dense: for pairs of short texts.
  at::Tensor weights(const at::Tensor& query, const at::Tensor& key, const AttentionContext& context);

  /// What step() remembers, before the first token.
  virtual std::unique_ptr<AttentionState> initial_state() const;
  /// forward() for tokens behind those of `state`, which takes them in: key and value [B, H_kv, Q, D] are those of the
  /// queries, `context.query_offset` is state.length(), and `context.key_keep` is over the tokens before, too. Errors:
  /// kArgument for the state of another mechanism, and as AttentionState::append().
  virtual at::Tensor step(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const AttentionContext& context, AttentionState& state);

  /// Takes from the attention of layer 0 what all layers of a model share; called once, when they are built. Nothing is
  /// shared unless a mechanism says so. Errors: kArgument where layer 0 does not have it.
  virtual void share(AttentionImpl& /*first*/) {}
  /// What share() took: parameters that gradients reach, and which layer 0 has registered.
  virtual std::vector<at::Tensor> shared_parameters() const { return {}; }

  /// What is computed here.
  const MechanismSpec& spec() const noexcept { return spec_; }
  /// Where it computes.
  const MechanismSite& site() const noexcept { return site_; }
  /// Its canonical string, `causal &` included.
  const std::string& description() const noexcept { return spec_.description; }

 protected:
  /// That of the site in training mode, unless `context` says that nothing is dropped out.
  DropoutOfCall dropout_of(const AttentionContext& context) const;

 private:
  MechanismSpec spec_;
  MechanismSite site_;
};

/// Builds the module of a mechanism. What it learns has storage as `options` say (device, dtype, meta). Errors: those
/// of at_site().
std::shared_ptr<AttentionImpl> make_attention(const MechanismSpec& spec, const MechanismSite& site,
                                              const at::TensorOptions& options = {});

/// parse_mechanism() and the above; files lie below `site.directory`.
std::shared_ptr<AttentionImpl> make_attention(const std::string& expression, const MechanismSite& site,
                                              const at::TensorOptions& options = {});

/// The same for a pattern that is parsed, or built in C++.
std::shared_ptr<AttentionImpl> make_attention(const pattern::Pattern& pattern, const MechanismSite& site);

}  // namespace weft::attention
