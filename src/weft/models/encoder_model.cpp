// SPDX-License-Identifier: Apache-2.0
// A call made ready, through the stack, into the head.
#include "weft/models/encoder_model.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "weft/attention/devices/placed.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/encoder/passes.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/replaced_attention.h"
#include "weft/models/heads/task_head.h"
#include "weft/models/heads/task_loss.h"
#include "weft/models/stack/initialize.h"
#include "weft/models/stack/seeded_generator.h"
#include "weft/models/stack/stack.h"

namespace weft::models {

/// Rows, their hidden states, and the seed of the call's dropout.
struct EncoderCall {
  EncoderBatch batch;
  StackOutput rows;
  DropoutSeed seed;
};

namespace {

/// Errors: those of the constructor, before any tensor.
Blueprint checked_plan(const EncoderConfig& config, Head head, const EncoderOptions& options) {
  check_options(options);
  check_random(options, encoder_rules(config).has_field("num_random_blocks"), encoders_with("num_random_blocks"),
               config.model_type);
  check_replaced(options, config.attention);
  validate(with_options(config, options), "model config");  // the family's rules hold for options, too
  if (!encoder_rules(config).has_head(head)) {
    fail(ErrorKind::kUnsupported, config.model_type, " has no head ", to_string(head), " in transformers");
  }
  Blueprint plan = blueprint(config, head, options);
  check_mechanisms(plan.stack, "model config");
  return plan;
}

}  // namespace

void check_options(const EncoderOptions& options) {
  require(options.random == "released" || options.random == "hf-eval" || options.random == "uniform",
          "random must be released, hf-eval or uniform, found ", Quoted(options.random));
}

EncoderOutput placed(EncoderOutput output, c10::Device device) {
  for (at::Tensor* tensor : {&output.last_hidden_state, &output.pooler_output, &output.logits, &output.start_logits,
                             &output.end_logits, &output.companion_hidden_state}) {
    *tensor = attention::placed(*tensor, device);
  }
  return output;
}

std::vector<std::pair<std::string, at::Tensor>> EncoderOutput::named() const {
  std::vector<std::pair<std::string, at::Tensor>> result;
  for (const auto& [name, tensor] : {std::pair<const char*, at::Tensor>{"last_hidden_state", last_hidden_state},
                                     {"pooler_output", pooler_output},
                                     {"logits", logits},
                                     {"start_logits", start_logits},
                                     {"end_logits", end_logits},
                                     {"global_hidden_state", companion_hidden_state}}) {
    if (tensor.defined()) {
      result.emplace_back(name, tensor);
    }
  }
  return result;
}

EncoderModelImpl::EncoderModelImpl(const EncoderConfig& config, Head head, const EncoderOptions& encoder,
                                   const at::TensorOptions& options)
    : EncoderModelImpl(config, head, encoder, checked_plan(config, head, encoder), options) {}

EncoderModelImpl::EncoderModelImpl(EncoderConfig config, Head head, EncoderOptions encoder, const Blueprint& plan,
                                   const at::TensorOptions& options)
    : config_(std::move(config)),
      head_(head),
      options_(std::move(encoder)),
      drops_inside_(std::any_of(plan.stack.blocks.begin(), plan.stack.blocks.end(),
                                [](const layers::BlockConfig& block) { return block.inner_dropout > 0.0; })),
      stack_(register_module("encoder", std::make_shared<StackImpl>(plan.stack, options))),
      passes_(std::make_unique<EncoderPasses>(plan.passes)),
      top_(register_module("head", std::make_shared<EncoderHeadImpl>(config_, head, plan.head, options))) {}

EncoderModelImpl::~EncoderModelImpl() = default;

EncoderCall EncoderModelImpl::run(const EncoderInput& input) {
  const bool drops =
      is_training() && (config_.hidden_dropout_prob > 0.0 || config_.attention_probs_dropout_prob > 0.0 ||
                        drops_inside_ || top_->plan().drops());
  EncoderCall call{make_batch(config_, head_, input, stack_->device()), {}, input.seed.value_or(0)};
  if (drops && !input.seed) {
    call.seed = draw_seed();
  }
  call.rows = passes_->run(*stack_, call.batch, {call.seed, gradient_checkpointing_});
  return call;
}

EncoderOutput EncoderModelImpl::forward(const EncoderInput& input) {
  const EncoderCall call = run(input);
  return top_->forward(call.rows, call.batch, stack_->embeddings->table(), call.seed);
}

at::Tensor EncoderModelImpl::hidden_states(const EncoderInput& input) { return run(input).rows.hidden; }

EncoderStates EncoderModelImpl::states(const EncoderInput& input) {
  const EncoderCall call = run(input);
  return {call.rows.hidden, call.rows.companions};
}

at::Tensor EncoderModelImpl::vocabulary_logits(const at::Tensor& hidden) {
  if (head_ != Head::kMaskedLanguageModel) {
    fail(ErrorKind::kUnsupported, "vocabulary_logits needs a masked-lm head, but the model's is ", to_string(head_));
  }
  return top_->scorer(stack_->embeddings->table()).logits(attention::placed(hidden, stack_->device()));
}

at::Tensor EncoderModelImpl::loss(const EncoderInput& input, const EncoderLabels& given) {
  if (head_ == Head::kNone) {
    fail(ErrorKind::kUnsupported, "the bare encoder has no loss: open it with a head");
  }
  if (head_ == Head::kMaskedLanguageModel) {
    require(given.labels.defined() && given.labels.sizes() == input.input_ids.sizes(),
            "labels and input_ids differ in shape: ", given.labels.defined() ? given.labels.sizes() : at::IntArrayRef(),
            " and ", input.input_ids.sizes());
    return top_->scorer(stack_->embeddings->table()).loss(hidden_states(input).flatten(0, 1), given.labels.flatten());
  }
  const auto there = [&](const at::Tensor& tensor) { return attention::placed(tensor, stack_->device()); };
  const EncoderLabels labels{there(given.labels), there(given.start_positions), there(given.end_positions)};
  const EncoderCall call = run(input);
  const EncoderOutput output = top_->forward(call.rows, call.batch, stack_->embeddings->table(), call.seed);
  switch (head_) {
    case Head::kSequenceClassification:
      return classification_loss(config_, output.logits, labels.labels);
    case Head::kTokenClassification:
      require(labels.labels.defined(), "loss: labels must be given");
      return cross_entropy(output.logits.flatten(0, 1), labels.labels.flatten());
    case Head::kQuestionAnswering:
      return answer_loss(output, options_.pad_like_hf ? at::Tensor() : call.batch.keep, labels);
    case Head::kReplacedTokens:
      return replaced_loss(output.logits, call.batch.keep, labels.labels);
    default:
      require(labels.labels.defined(), "loss: labels must be given");
      return cross_entropy(output.logits, labels.labels.flatten());
  }
}

std::vector<std::pair<std::string, std::string>> EncoderModelImpl::computed() const {
  auto said = passes_->computed(*stack_);
  if (layers::holds_int8(*this)) {
    said.emplace_back("weights", "int8");
  }
  return said;
}

bool EncoderModelImpl::needs_input() const { return stack_->needs_input(); }

std::int64_t EncoderModelImpl::parameter_count() const { return models::parameter_count(*this); }

void initialize(EncoderModelImpl& model, std::uint64_t seed, std::string_view only) {
  const EncoderConfig& config = model.config();
  const EncoderRules& rules = encoder_rules(config);
  Initializer initializer = rules.initializer(config);
  initializer.padding_id = config.pad_token_id;
  initializer.padding_position = rules.embeddings(config).skip_padding;
  initializer.generator = at::detail::createCPUGenerator(seed);
  initialize(static_cast<torch::nn::Module&>(model), initializer, only);
}

EncoderModel make_encoder(const EncoderConfig& config, Head head, std::uint64_t seed) {
  const SeededGenerator for_mechanisms(seed);
  EncoderModel model(config, head, EncoderOptions{}, at::TensorOptions(at::kFloat));
  initialize(*model, seed);
  model->eval();
  return model;
}

}  // namespace weft::models
