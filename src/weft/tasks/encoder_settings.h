// SPDX-License-Identifier: Apache-2.0
// How tasks compute with the model of a directory: its attention, and types of numbers. The command line has a flag for
// each field, and a server gives all its models the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/checkpoint/model_directory.h"
#include "weft/core/fields.h"
#include "weft/models/encoder_model.h"
#include "weft/tasks/sequences/sequence_model.h"
#include "weft/tasks/task_model.h"

namespace weft::tasks {

struct EncoderRunConfig {
  std::string attention;
  std::string attention_type = "config";
  std::int64_t block_size = 0;
  std::int64_t random_blocks = -1;
  std::string random = "released";
  bool pad_like_hf = false;
  bool check_tensors = false;
  std::string dtype = "run";
  std::string weights = "stored";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EncoderRunConfig;
    visit(Field{"attention", &C::attention, "pattern or mechanism to use instead of the one in config.json"});
    visit(Field{"attention_type", &C::attention_type,
                "of a model whose config.json has it: sparse or full attention, as "
                "from_pretrained(attention_type=...) chooses; config follows config.json"}
              .one_of({"config", "block_sparse", "original_full"}));
    visit(Field{"block_size", &C::block_size,
                "of a model whose config.json has it: tokens in a block; 0 follows config.json"}
              .range(0, 1 << 16));
    visit(Field{"random_blocks", &C::random_blocks,
                "num_random_blocks of a model whose config.json has it: random blocks that each block of queries "
                "attends to; -1 follows config.json"}
              .range(-1, 1 << 16));
    visit(Field{"random", &C::random,
                "where config.json asks for random blocks: as the released training code draws them, as Hugging "
                "Face's inference does, or uniformly"}
              .one_of({"released", "hf-eval", "uniform"}));
    visit(Field{"pad_like_hf", &C::pad_like_hf,
                "pad inputs to the lengths that Hugging Face pads to, and let texts of a batch change each other where "
                "they do there, so that the numbers are equal to its numbers"});
    visit(Field{"check_tensors", &C::check_tensors, "fail if a weight is NaN or infinite, and name its tensor"});
    visit(Field{
        "dtype", &C::dtype,
        "element type of weights and products; run keeps the weights and multiplies them in what the run "
        "learned in, and is float32 for a model of no run, but beside int8 weights bfloat16 where the device is "
        "fast at it (of a decoder float32); auto is the same for a run, else bfloat16 where the device is fast at "
        "it; bfloat16 takes half the memory and rounds numbers to 8 bits, so that a text that is written may "
        "become another one"}
              .one_of({"run", "auto", "float32", "bfloat16"}));
    visit(
        Field{"weights", &C::weights,
              "how linear layers and tables of tokens keep their weights: stored as the element type says, or as int8 "
              "with a scale an output or a token, a quarter of float32, multiplied by rows of int8 with a scale each"}
            .one_of({"stored", "int8"}));
  }
};

/// What a config amounts to.
struct EncoderSettings {
  models::EncoderOptions encoder;
  at::ScalarType dtype = at::kFloat;  ///< of weights
  std::string products = "float32";   ///< what float32 weights are multiplied in: float32 or bfloat16
  bool int8 = false;                  ///< the linear layers keep int8
  bool check_finite = false;
};
/// For the model in `directory`. Errors: those of training::run_dtype() and checkpoint::has_int8_weights().
EncoderSettings encoder_settings(const EncoderRunConfig& config, const std::filesystem::path& directory);
/// The same of a decoder, which has no encoder's options. With "run" what is beside int8 weights is float32: its rows
/// are few, and a default does not change the text that people get. Errors: those of training::run_dtype().
EncoderSettings decoder_settings(const EncoderRunConfig& config, const std::filesystem::path& directory);

/// "float32" or "bfloat16".
std::string dtype_text(at::ScalarType dtype);
/// What products are computed in.
at::ScalarType product_type(const EncoderSettings& settings);

/// How a model is opened that computes as `settings` say.
TaskModelOptions model_options(const EncoderSettings& settings);
/// The same of a decoder.
checkpoint::LoadOptions decoder_options(const EncoderSettings& settings);
/// The same of an encoder-decoder, which writes by `generation`.
SequenceModelOptions sequence_options(const EncoderSettings& settings, generation::GenerationConfig generation);

}  // namespace weft::tasks
