// SPDX-License-Identifier: Apache-2.0
// What commands over encoder directories share: the flags of a run (pattern, dtype, threads), and directories that are
// made: never over one that is there, and with a tokeniser that fits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <CLI/App.hpp>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder.h"
#include "weft/models/encoder_model.h"
#include "weft/models/language_model.h"

namespace weft::cli {

struct EncoderRunConfig {
  std::string attention;
  std::string attention_type = "config";
  std::int64_t block_size = 0;
  std::int64_t random_blocks = -1;
  std::string random = "released";
  bool pad_like_hf = false;
  bool check_tensors = false;
  std::string dtype = "run";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EncoderRunConfig;
    visit(Field{"attention", &C::attention, "pattern or mechanism to use instead of the one in config.json"});
    visit(Field{"attention_type", &C::attention_type,
                "big_bird and bigbird_pegasus: sparse or full attention, as from_pretrained(attention_type=...) "
                "chooses; config follows "
                "config.json"}
              .one_of({"config", "block_sparse", "original_full"}));
    visit(Field{"block_size", &C::block_size, "big_bird and bigbird_pegasus: tokens in a block; 0 follows config.json"}
              .range(0, 1 << 16));
    visit(Field{
        "random_blocks", &C::random_blocks,
        "big_bird and bigbird_pegasus: random blocks that each block of queries attends to; -1 follows config.json"}
              .range(-1, 1 << 16));
    visit(Field{"random", &C::random,
                "big_bird and bigbird_pegasus: random blocks as the released training code draws them, as Hugging "
                "Face's inference does, "
                "or uniformly"}
              .one_of({"released", "hf-eval", "uniform"}));
    visit(Field{"pad_like_hf", &C::pad_like_hf,
                "pad inputs to the lengths that Hugging Face pads to, and let texts of a batch change each other where "
                "they do there, so that the numbers are equal to its numbers"});
    visit(Field{"check_tensors", &C::check_tensors, "fail if a weight is NaN or infinite, and name its tensor"});
    visit(Field{"dtype", &C::dtype,
                "element type of weights and products; run keeps the weights and multiplies them in what the run "
                "learned in, and is float32 for a model of no run; auto is the same for a run, else bfloat16 where "
                "this processor is fast at it"}
              .one_of({"run", "auto", "float32", "bfloat16"}));
  }
};

/// The flags of one command, as they were given.
struct EncoderFlags {
  formats::Json given = formats::Json::object();
  std::int64_t threads = 0;
};

/// Adds all of them, --threads too.
void add_encoder_flags(CLI::App& app, EncoderFlags& flags);

/// What the flags amount to; also applies the number of threads.
struct EncoderSettings {
  models::EncoderOptions encoder;
  at::ScalarType dtype = at::kFloat;  ///< of weights
  std::string products = "float32";   ///< what float32 weights are multiplied in: float32 or bfloat16
  bool check_finite = false;
  std::int64_t threads = 0;
};
/// For the model in `directory`. Errors: those of training::run_dtype().
EncoderSettings encoder_settings(const EncoderFlags& flags, const std::string& command,
                                 const std::filesystem::path& directory);

/// "float32" or "bfloat16".
std::string dtype_text(at::ScalarType dtype);
/// What products are computed in.
at::ScalarType product_type(const EncoderSettings& settings);

/// Errors: kArgument where `out` already holds a model, or is no directory: nothing is overwritten.
void require_no_model(const std::filesystem::path& out);

/// Sets model_max_length of `directory`/tokenizer_config.json to `length`, and where no tokeniser class is named the
/// one of `family` (may be empty), for transformers to find it beside a config of another family. Does
/// nothing in a directory without a tokeniser. Errors: kIo, kFormat.
void fit_tokenizer(const std::filesystem::path& directory, std::int64_t length, const std::string& family);

/// Prints what was made, as a line or as {"out", "family", "head", "parameters", "positions"}.
void print_new_model(const std::filesystem::path& out, const models::EncoderModel& model, bool json);
/// The same of an encoder-decoder, whose "positions" are those of a source.
void print_new_model(const std::filesystem::path& out, const models::EncoderDecoder& model, bool json);
/// The same of a decoder of `family`, whose "positions" are those of a segment or of the longest text.
void print_new_model(const std::filesystem::path& out, const models::LanguageModel& model, std::string_view family,
                     bool json);

}  // namespace weft::cli
