// SPDX-License-Identifier: Apache-2.0
// Several models that write one text together: each reads the source and what is written so far, and the next token
// comes from the mean of what they say.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/generation/decoder.h"

namespace weft::generation {

/// Which mean: the logarithm of the weighted mean of probabilities (as fairseq has it), or the weighted mean of their
/// logarithms (as Marian has it), whose sums over a vocabulary are less than 1.
enum class JointMean { kProbabilities, kLogarithms };

/// A decoder of one search at a time: initial_state() begins it, and each model keeps a cache of its own.
class JointDecoder final : public Decoder {
 public:
  /// One weight a model, at least 0 and not all 0; they are divided by their sum. The models have one vocabulary.
  /// Errors: kArgument for no model, and for other weights.
  JointDecoder(std::vector<std::unique_ptr<Decoder>> models, std::vector<double> weights, JointMean mean);

  layers::DecodingState initial_state() override;
  /// Logarithms of probabilities. Errors: kArgument for models of several vocabularies; those of the models.
  at::Tensor step(const at::Tensor& tokens, layers::DecodingState& state) override;
  void reorder(layers::DecodingState& state, const at::Tensor& rows) override;
  std::optional<std::int64_t> longest() const override;
  bool gives_logarithms() const override { return true; }

 private:
  std::vector<std::unique_ptr<Decoder>> models_;
  std::vector<double> weights_;
  JointMean mean_;
  std::vector<layers::DecodingState> states_;  // of each model
};

/// Weights, divided by their sum; equal ones where none are given. Errors: kArgument naming `where` for another number
/// of them than of models, for what is below 0 or not finite, and where all are 0.
std::vector<double> joint_weights(std::vector<double> weights, std::size_t models, std::string_view where);

}  // namespace weft::generation
