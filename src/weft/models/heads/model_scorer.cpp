// SPDX-License-Identifier: Apache-2.0
// The parts are found in the module tree, which is the same as that of a checkpoint.
#include "weft/models/heads/model_scorer.h"

#include "weft/core/error.h"
#include "weft/models/heads/task_head.h"
#include "weft/models/stack/stack.h"

namespace weft::models {
namespace {

template <typename Part>
Part& child(torch::nn::Module& module, const std::string& name) {
  return *module.named_children()[name]->as<Part>();
}

EncoderHeadImpl& head_of(EncoderModelImpl& model) { return child<EncoderHeadImpl>(model, "head"); }

layers::TokenTable tokens_of(EncoderModelImpl& model) { return child<StackImpl>(model, "encoder").embeddings->table(); }

}  // namespace

VocabularyScorer scorer_of(LanguageModelImpl& model) {
  return child<LanguageModelHeadImpl>(model, "head").scorer(child<layers::EmbeddingsImpl>(model, "embeddings"));
}

VocabularyScorer scorer_of(EncoderModelImpl& model) {
  if (model.head() != Head::kMaskedLanguageModel) {
    fail(ErrorKind::kUnsupported, "scores over the vocabulary need a masked-lm head, but the model's is ",
         to_string(model.head()));
  }
  return head_of(model).scorer(tokens_of(model));
}

EncoderOutput forward_with_hidden(EncoderModelImpl& model, const EncoderInput& input) {
  const at::Tensor hidden = model.hidden_states(input);
  const EncoderBatch batch = make_batch(model.config(), model.head(), input, hidden.device());
  EncoderOutput output = head_of(model).forward({hidden}, batch, tokens_of(model), input.seed.value_or(0));
  output.last_hidden_state = hidden;
  return output;
}

}  // namespace weft::models
