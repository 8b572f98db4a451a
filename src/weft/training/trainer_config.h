// SPDX-License-Identifier: Apache-2.0
// How any task is trained: optimiser, schedule, length, precision, checkpoints. The field list is behind `weft train`'s
// flags and the training.json of a run directory; what is learned from is the task's own config (text_config.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/core/random.h"

namespace weft::training {

/// Bounds that no run reaches. They keep products of such fields (windows shown, tokens of a batch) within 63 bits; a
/// step has at most 2^31 windows (check_config).
inline constexpr std::int64_t kMostTokens = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMostRows = 1 << 20;
inline constexpr std::int64_t kMostSteps = (std::int64_t{1} << 31) - 1;

/// A run's batches, schedule, optimiser and habits; the field list below says what each field means and which values it
/// takes. Label smoothing and the draws of subwords are here because every task has them.
struct TrainerConfig {
  std::int64_t batch_size = 8;
  std::int64_t gradient_accumulation = 1;
  std::int64_t steps = 0;
  double minutes = 0.0;
  double learning_rate = 1e-3;
  double min_learning_rate_ratio = 0.0;
  std::string optimizer = "adamw";
  std::string schedule = "cosine";
  std::int64_t warmup_steps = 0;
  double warmup_ratio = 0.02;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  bool relative_steps = false;
  double layer_decay = 1.0;
  std::vector<std::string> freeze;
  double label_smoothing = 0.0;
  double clip_norm = 1.0;
  std::string dtype = "auto";
  std::int64_t seed = 0;
  std::int64_t dropout_draws = static_cast<std::int64_t>(kNewestDraws);
  double bpe_dropout = 0.0;
  double unigram_alpha = 0.0;
  std::int64_t checkpoint_every = 0;
  double checkpoint_minutes = 2.0;
  std::int64_t keep_checkpoints = 2;
  std::int64_t eval_every = 0;
  std::string best_metric;
  std::int64_t early_stopping = 0;
  std::int64_t log_every = 1;
  std::int64_t threads = 0;
  std::string device = "cpu";
  bool tf32 = false;
  std::int64_t processes = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit);

 private:
  template <typename Visitor>
  static void length_fields(Visitor&& visit);
  template <typename Visitor>
  static void optimizer_fields(Visitor&& visit);
  template <typename Visitor>
  static void subword_fields(Visitor&& visit);
  template <typename Visitor>
  static void habit_fields(Visitor&& visit);
};

template <typename Visitor>
void TrainerConfig::fields(Visitor&& visit) {
  length_fields(visit);
  optimizer_fields(visit);
  subword_fields(visit);
  habit_fields(visit);
}

template <typename Visitor>
void TrainerConfig::length_fields(Visitor&& visit) {
  using C = TrainerConfig;
  visit(Field{"batch_size", &C::batch_size, "windows in a batch"}.range(1, kMostRows).not_with("batch_tokens"));
  visit(Field{"gradient_accumulation", &C::gradient_accumulation, "batches whose gradients are added up for one step"}
            .range(1, kMostRows));
  visit(Field{"steps", &C::steps, "steps to train for; 0 to train by minutes"}.range(0, kMostSteps));
  visit(Field{"minutes", &C::minutes,
              "minutes that the steps may take, the first with its preparation; reading data, evaluations and "
              "checkpoints come on top, and no step is begun that would end later; 0 to train by steps"}
            .range(0, 1e9));
}

template <typename Visitor>
void TrainerConfig::optimizer_fields(Visitor&& visit) {
  using C = TrainerConfig;
  const std::vector<std::string_view> with_moments = {"adamw", "lamb"};
  visit(Field{"learning_rate", &C::learning_rate, "peak learning rate"}.range(0, 10));
  visit(
      Field{"min_learning_rate_ratio", &C::min_learning_rate_ratio, "learning rate at the end, as a share of the peak"}
          .range(0, 1)
          .only_with("schedule", {"cosine", "linear", "inverse_sqrt"}));
  visit(Field{"optimizer", &C::optimizer, "how gradients become updates"}.one_of({"adamw", "adafactor", "lamb"}));
  visit(Field{"schedule", &C::schedule, "decay of the learning rate after warm-up"}.one_of(
      {"cosine", "linear", "inverse_sqrt", "constant"}));
  visit(Field{"warmup_steps", &C::warmup_steps, "steps of linear warm-up; 0 for a share of the run"}.range(0,
                                                                                                           kMostSteps));
  visit(Field{"warmup_ratio", &C::warmup_ratio, "share of the run that is linear warm-up"}.range(0, 1).not_with(
      "warmup_steps"));
  visit(Field{"weight_decay", &C::weight_decay, "weight decay of matrices; norms, biases and embeddings have none"}
            .at_least(0));
  visit(Field{"beta1", &C::beta1, "decay rate of the first moment"}
            .range(0, 0.999999)
            .only_with("optimizer", with_moments));
  visit(Field{"beta2", &C::beta2, "decay rate of the second moment"}
            .range(0, 0.999999)
            .only_with("optimizer", with_moments));
  visit(Field{"epsilon", &C::epsilon, "added to the root of the second moment"}.range(1e-30, 1).only_with(
      "optimizer", with_moments));
  visit(Field{"relative_steps", &C::relative_steps, "the learning rate is multiplied by the size of each parameter"}
            .only_with("optimizer", {"adafactor"}));
  visit(Field{"layer_decay", &C::layer_decay, "learning rate of a layer, as a share of the rate of the layer above it"}
            .range(0.01, 1));
  visit(Field{"freeze", &C::freeze, "names of parameters that are not trained; * matches any letters"});
  visit(Field{"label_smoothing", &C::label_smoothing, "share of each target that is spread over the vocabulary"}.range(
      0, 0.999));
  visit(Field{"clip_norm", &C::clip_norm,
              "largest norm of the whole gradient: a larger one is scaled down; 0 never scales"}
            .at_least(0));
  visit(Field{"dtype", &C::dtype,
              "number format of matrix products: float32 or bfloat16; auto is bfloat16 where the device is fast at it"}
            .one_of({"auto", "float32", "bfloat16"}));
  visit(Field{"seed", &C::seed, "random seed of initial weights, data order and dropout"}.at_least(0));
  visit(Field{"dropout_draws", &C::dropout_draws,
              "which random numbers dropout takes: 2, or 1 for those of runs that earlier versions of Weft began"}
            .range(1, static_cast<double>(kNewestDraws)));
}

template <typename Visitor>
void TrainerConfig::subword_fields(Visitor&& visit) {
  using C = TrainerConfig;
  visit(Field{"bpe_dropout", &C::bpe_dropout,
              "probability that a merge of a BPE tokeniser is left out in training text; 0 leaves out none"}
            .range(0, 0.99));
  visit(Field{"unigram_alpha", &C::unigram_alpha,
              "draw pieces of training text with a unigram model's probability to this power; 0 draws none"}
            .range(0, 100));
}

template <typename Visitor>
void TrainerConfig::habit_fields(Visitor&& visit) {
  using C = TrainerConfig;
  visit(
      Field{"checkpoint_every", &C::checkpoint_every, "steps between checkpoints; 0 to count minutes instead"}.at_least(
          0));
  visit(Field{"checkpoint_minutes", &C::checkpoint_minutes, "minutes between checkpoints; 0 for only at the end"}
            .at_least(0)
            .not_with("checkpoint_every"));
  visit(Field{"keep_checkpoints", &C::keep_checkpoints, "how many of the newest checkpoints are kept"}.at_least(1));
  visit(
      Field{"eval_every", &C::eval_every, "steps between evaluations; 0 for only at the end"}.at_least(0).only_with_any(
          {"eval_text", "eval_images", "eval_audio", "eval_data", "eval_source", "folds"}));
  visit(Field{"best_metric", &C::best_metric,
              "figure of an evaluation, for example loss, by which the best model is kept in RUN/best; without it none "
              "is kept"});
  visit(Field{"early_stopping", &C::early_stopping,
              "stop after this many evaluations in a row without a better best_metric; 0 never stops early"}
            .at_least(0));
  visit(Field{"log_every", &C::log_every, "steps between entries of metrics.jsonl"}.at_least(1));
  visit(
      Field{"threads", &C::threads, "threads to compute with; 0 leaves the choice to WEFT_THREADS and LibTorch"}.range(
          0, 4096));
  visit(Field{"device", &C::device,
              "where the model learns: cpu, cuda (the first GPU, or that of LOCAL_RANK) or cuda:N"});
  visit(Field{"tf32", &C::tf32, "a GPU multiplies float32 with 11 bits of each factor, on tensor cores"});
  visit(Field{
      "processes", &C::processes,
      "number of processes whose batches make one step, each with gradient_accumulation batches; 0 for as many as "
      "begin the run"}
            .range(0, kMostRows));
}

/// Batches of one step over all processes: gradient_accumulation times processes.
std::int64_t parts_per_step(const TrainerConfig& config);

/// Every field on its own and fields against each other: exactly one of steps and minutes, warm-up within the run.
/// Errors: kArgument naming `where`, the field, the rule and the value.
void check_config(const TrainerConfig& config, std::string_view where);

/// `config` as a run directory keeps it: `auto` decided and processes counted, so that it means the same on every later
/// day.
TrainerConfig resolved(TrainerConfig config);

/// The seed of all dropout in the loss of a part; `stream` sets the draws of a task apart from all others.
DropoutSeed dropout_seed(const TrainerConfig& config, std::uint64_t stream, std::int64_t step, std::int64_t part);

/// "float32" or "bfloat16": what `dtype` (also "auto") means where models are opened (attention::opening_device());
/// precision.h has it for any device.
std::string resolved_dtype(const std::string& dtype);

}  // namespace weft::training
