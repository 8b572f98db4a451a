// SPDX-License-Identifier: Apache-2.0
// Labels are matched by name, so that two heads may have them in different orders.
#include "weft/fine_tuning/distillation/head_teacher.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/layers/soft_targets.h"
#include "weft/models/heads/model_scorer.h"
#include "weft/training/distillation/same_vocabulary.h"

namespace weft::fine_tuning {
HeadTeacher::HeadTeacher(const training::DistillationConfig& config, const Objective& objective)
    : config_(config),
      opened_(checkpoint::open_model(config.distill)),
      name_(concat("distill: ", quote(config.distill, 4096))) {
  opened_.prefer(objective.head());
  const models::Head head = opened_.head();
  require(head == objective.head(), name_, " must have the head ", to_string(objective.head()),
          ", as the student, found ", to_string(head));
  const text::HuggingFaceTokenizer tokenizer(config.distill);
  const auto difference = training::vocabulary_difference(*objective.setup().model.tokenizer, tokenizer);
  require(!difference, name_, " must have the vocabulary of the student: ", difference.value_or(""));
}

void HeadTeacher::check_labels(const HeadChoice& head) {
  require(head.problem_type != "regression", name_,
          ": regression learns a number, and a teacher is for choices among labels; leave out distill");
  const std::vector<std::string> theirs = checkpoint::load_encoder_config(opened_).id2label;
  if (!models::has_labels(opened_.head()) || theirs == head.labels) {
    return;
  }
  std::vector<std::int64_t> columns;
  for (const std::string& label : head.labels) {
    const auto found = std::find(theirs.begin(), theirs.end(), label);
    require(found != theirs.end(), name_, " must have the labels of the student, found none called ", Quoted(label));
    columns.push_back(found - theirs.begin());
  }
  require(theirs.size() == head.labels.size(), name_, " must have the ", head.labels.size(),
          " labels of the student, found ", theirs.size());
  columns_ = at::tensor(columns, at::kLong);
}

void HeadTeacher::open(const HeadChoice& head, const models::EncoderConfig& student, std::int64_t longest) {
  check_labels(head);
  const checkpoint::ReadingFacts shape = opened_.facts(checkpoint::Ability::kRead).reads;
  require(longest <= shape.longest, name_, " must read the longest example, ", longest, " tokens, found at most ",
          shape.longest, "; a smaller max_length fits it");
  require(!needs_hidden() || shape.width == student.output_size(), name_, ": distill_hidden needs hidden states of ",
          student.output_size(), " numbers, as the student has, found ", shape.width);
  model_ = checkpoint::load_encoder(opened_);
  model_->eval();
  for (at::Tensor& parameter : model_->parameters()) {
    parameter.set_requires_grad(false);
  }
}

at::Tensor HeadTeacher::loss(const at::Tensor& hard, const models::EncoderOutput& student, const Objective& objective,
                             const TrainingBatch& batch) {
  models::EncoderOutput told;
  {
    const at::NoGradGuard without_gradients;
    told = models::placed(
        needs_hidden() ? models::forward_with_hidden(*model_, batch.input) : model_->forward(batch.input), at::kCPU);
    told.logits = columns_.defined() ? told.logits.index_select(-1, columns_) : told.logits;
  }
  const std::vector<at::Tensor> own = objective.choices(student, batch);
  const std::vector<at::Tensor> theirs = objective.choices(told, batch);
  at::Tensor soft;
  for (std::size_t part = 0; part < own.size(); ++part) {
    const at::Tensor one = layers::soft_cross_entropy(own[part], theirs[part], config_.distill_temperature);
    soft = soft.defined() ? soft + one : one;
  }
  const double share = config_.distill_weight / static_cast<double>(own.size());
  at::Tensor loss = hard.mul(1.0 - config_.distill_weight) + soft.to(hard.scalar_type()).mul(share);
  if (!needs_hidden()) {
    return loss;
  }
  const at::Tensor kept = kept_tokens(batch.input);
  const auto rows = [&](const at::Tensor& hidden) {
    const at::Tensor all = hidden.flatten(0, 1).to(loss.scalar_type());
    return kept.defined() ? all.index_select(0, kept.flatten().nonzero().squeeze(1)) : all;
  };
  return loss + at::mse_loss(rows(student.last_hidden_state), rows(told.last_hidden_state)).mul(config_.distill_hidden);
}

}  // namespace weft::fine_tuning
