// SPDX-License-Identifier: Apache-2.0
// A teacher of a head: a finished model for the same task, whose choices an encoder learns beside the labels.
#pragma once

#include <cstdint>
#include <string>

#include "weft/fine_tuning/objective.h"
#include "weft/training/distillation/config.h"

namespace weft::fine_tuning {

class HeadTeacher {
 public:
  /// Reads the config and the tokeniser of config.distill and holds them to the student's, before any example is read.
  /// Errors: kArgument naming the directory, what was expected and what was found.
  HeadTeacher(const training::DistillationConfig& config, const Objective& objective);

  /// Opens the weights, once the data are read and the head is chosen; no batch has a row of more than `longest`
  /// tokens. Errors: kArgument for other labels, regression, a teacher that reads less, and hidden states of another
  /// width where these are compared.
  void open(const HeadChoice& head, const models::EncoderConfig& student, std::int64_t longest);

  /// (1 - weight) times `hard` and weight times the mean of T^2 KL over what the head chooses, and distill_hidden times
  /// the squared difference of the last hidden states of tokens that are no padding. A scalar with its graph. `student`
  /// has the hidden states where needs_hidden().
  at::Tensor loss(const at::Tensor& hard, const models::EncoderOutput& student, const Objective& objective,
                  const TrainingBatch& batch);
  void move_to(c10::Device device) { model_->to(device); }
  bool needs_hidden() const noexcept { return config_.distill_hidden > 0.0; }

 private:
  void check_labels(const HeadChoice& head);

  training::DistillationConfig config_;
  checkpoint::OpenedModel opened_;
  std::string name_;  // of the directory, for messages
  models::EncoderModel model_{nullptr};
  at::Tensor columns_;  // int64 [labels]: where the teacher has each of the student's labels; undefined: in its order
};

}  // namespace weft::fine_tuning
