// SPDX-License-Identifier: Apache-2.0
// A small regression with dropout in place of a language model: every part of the trainer is tested in milliseconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <torch/types.h>

#include "weft/checkpoint/tensors.h"
#include "weft/formats/json_lines.h"
#include "weft/training/task.h"
#include "weft/training/trainer_config.h"

namespace weft::test {

class FakeTask final : public training::Task {
 public:
  explicit FakeTask(std::int64_t rows = 8) : rows_(rows) {
    embedding_ = normal(1, {4, 64}).requires_grad_();
    weight_ = normal(2, {64, 3}).requires_grad_();
    bias_ = torch::zeros({3}).requires_grad_();
  }

  std::vector<std::pair<std::string, at::Tensor>> parameters() const override {
    return {{"embedding", embedding_}, {"weight", weight_}, {"bias", bias_}};
  }
  void move_to(c10::Device /*device*/) override {}
  /// Mean squared error of a two-layer network on a batch that (step, part) determines; its dropout draws from
  /// LibTorch's generator.
  at::Tensor loss(std::int64_t step, std::int64_t part) override {
    if (on_loss) {
      on_loss(step);
    }
    const std::int64_t count = batches.empty() ? 1 : batches.at(static_cast<std::size_t>(part));
    const std::int64_t first =
        batches.empty() ? part : std::accumulate(batches.begin(), batches.begin() + part, std::int64_t{0});
    std::vector<at::Tensor> inputs;
    inputs.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      inputs.push_back(normal(static_cast<std::uint64_t>(1000 + 64 * step + first + i), {rows_, 4}));
    }
    const at::Tensor input = torch::cat(inputs);
    at::Tensor hidden = torch::tanh(torch::matmul(input, embedding_));
    if (training_ && dropout > 0) {
      hidden = hidden * (torch::rand_like(hidden) >= dropout);
    }
    const at::Tensor target = torch::sin(input.narrow(1, 0, 3));
    return (torch::matmul(hidden, weight_) + bias_ - target).square().mean() * loss_factor;
  }
  double weight(std::int64_t /*step*/, std::int64_t part) override {
    return batches.empty() ? 1.0 : static_cast<double>(batches.at(static_cast<std::size_t>(part)));
  }
  void set_training(bool on) override { training_ = on; }
  std::int64_t tokens(std::int64_t /*step*/, std::int64_t /*part*/) override { return rows_; }
  formats::Json evaluate(const std::function<void(std::int64_t, std::int64_t)>& progress) override {
    ++evaluations;
    progress(1, 2);
    const at::NoGradGuard no_grad;
    return {{"mean_squared_error", loss(1 << 20, 0).item<double>()}, {"training", training_}};
  }
  std::optional<std::vector<std::string>> figure_names() override { return names; }
  formats::Json data_identity() const override { return {{"tokens", data}}; }
  formats::Json settings() const override { return {{"train_text", {"/text"}}}; }
  void save(const std::filesystem::path& directory) const override {
    checkpoint::save_tensors(directory / "model.safetensors", parameters());
  }
  void load(const std::filesystem::path& directory) override {
    const at::NoGradGuard no_grad;
    const auto saved = checkpoint::load_tensors(directory / "model.safetensors");
    for (auto& [name, parameter] : parameters()) {
      for (const auto& [saved_name, tensor] : saved) {
        if (saved_name == name) {
          at::Tensor(parameter).copy_(tensor);
        }
      }
    }
  }

  std::int64_t data = 1000;  ///< what data_identity() says
  double dropout = 0.2;
  double loss_factor = 1.0;
  std::vector<std::int64_t> batches;               ///< of each part, and its weight; empty: one
  std::function<void(std::int64_t step)> on_loss;  ///< called before each loss
  std::int64_t evaluations = 0;
  std::optional<std::vector<std::string>> names;  ///< what figure_names() says

 private:
  static at::Tensor normal(std::uint64_t seed, std::vector<std::int64_t> shape) {
    return torch::randn(shape, at::detail::createCPUGenerator(seed)) * 0.5;
  }

  std::int64_t rows_;
  bool training_ = false;
  at::Tensor embedding_;
  at::Tensor weight_;
  at::Tensor bias_;
};

/// A config for it: `steps` steps, a checkpoint only at the end.
inline training::TrainerConfig fake_config(std::int64_t steps) {
  training::TrainerConfig config;
  config.steps = steps;
  config.learning_rate = 0.01;
  config.checkpoint_minutes = 0;
  config.dtype = "float32";
  config.threads = 1;
  return config;
}

/// The losses in a run's metrics.jsonl; -1 in place of one whose step is not one more than the step before.
inline std::vector<double> logged_losses(const std::filesystem::path& run) {
  std::vector<double> losses;
  for (const formats::Json& line : formats::read_json_lines(run / "metrics.jsonl")) {
    if (line.contains("loss")) {
      const bool in_order = line.at("step").get<std::size_t>() == losses.size() + 1;
      losses.push_back(in_order ? line.at("loss").get<double>() : -1.0);
    }
  }
  return losses;
}

}  // namespace weft::test
