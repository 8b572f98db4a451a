// SPDX-License-Identifier: Apache-2.0
// What the trainer asks of whatever it trains: parameters, the loss of a part of a step, and files. A language model is
// one such task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "weft/formats/config_json.h"

namespace weft::training {

/// Something with a loss. Whatever is random in it is a function of (step, part), so that a resumed run repeats nothing
/// and skips nothing.
class Task {
 public:
  virtual ~Task() = default;
  /// Named leaves that gradients flow to, in a fixed order.
  virtual std::vector<std::pair<std::string, at::Tensor>> parameters() const = 0;
  /// Moves the model, and whatever else learns or teaches, to where the losses are computed; before parameters() are
  /// asked for.
  virtual void move_to(c10::Device device) = 0;
  /// Mean loss of one part of a step: a scalar with a gradient. Equal arguments give equal batches.
  virtual at::Tensor loss(std::int64_t step, std::int64_t part) = 0;
  /// How much a part's loss counts in that of its step, which is the mean over all parts: the number of things that
  /// loss() is a mean over, where parts differ in it. Asked before the losses of a step, for the parts that this
  /// process computes.
  virtual double weight(std::int64_t /*step*/, std::int64_t /*part*/) { return 1.0; }
  /// Called after the optimiser has changed the parameters, `done` steps being done: puts back what has to stay within
  /// bounds, and draws anew what is random in the model, from the run's seed.
  virtual void after_step(std::int64_t /*done*/, std::uint64_t /*seed*/) {}
  /// Numbers that describe the model itself, for the entries of metrics.jsonl and the progress: an object, empty where
  /// there are none.
  virtual formats::Json figures() const { return formats::Json::object(); }
  /// Dropout on or off.
  virtual void set_training(bool on) = 0;
  /// Tokens that one part of a step shows, padding not counted. Cheap: every process asks for all parts.
  virtual std::int64_t tokens(std::int64_t step, std::int64_t part) = 0;
  /// Figures on held-out data, empty when there is none; `progress(done, total)` may throw to stop.
  virtual formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) = 0;
  /// Names of the figures that evaluate() gives, none without held-out data; nothing where the task cannot know them.
  virtual std::optional<std::vector<std::string>> figure_names() { return std::nullopt; }
  /// What a report shows of the last evaluate() besides its figures, a bounded object; asked for in the first process
  /// only. Empty where there is nothing.
  virtual formats::Json review() const { return formats::Json::object(); }
  /// A sentence where the last evaluate() shows a model that says the same of everything, with what to do; empty
  /// elsewhere. Asked for in the first process only.
  virtual std::string doubt() const { return {}; }
  /// What must be the same when a run is resumed: named numbers that describe the data.
  virtual formats::Json data_identity() const = 0;
  /// What training.json holds beside the trainer's fields: settings of the task's own, "task" among them.
  virtual formats::Json settings() const { return formats::Json::object(); }
  /// Writes a model directory.
  virtual void save(const std::filesystem::path& directory) const = 0;
  /// Loads the weights that save() wrote.
  virtual void load(const std::filesystem::path& directory) = 0;
  /// Writes into a checkpoint what the next step needs besides weights; nothing where every step begins anew.
  virtual void save_state(const std::filesystem::path& /*checkpoint*/) const {}
  /// Loads what save_state() wrote; `step` is the next one. Errors: kFormat, kIo.
  virtual void load_state(const std::filesystem::path& /*checkpoint*/, std::int64_t /*step*/) {}
};

/// Named parameters in the module's order.
std::vector<std::pair<std::string, at::Tensor>> leaves_of(const torch::nn::Module& module);

/// Copies the values of `source`, which has the same parameters, into the tensors of `target`: an optimiser that holds
/// these must not be left with old ones.
void copy_leaves(const torch::nn::Module& source, torch::nn::Module& target);

/// A fingerprint as a run writes it: 16 hexadecimal digits.
std::string fingerprint_text(std::uint64_t fingerprint);

}  // namespace weft::training
