// SPDX-License-Identifier: Apache-2.0
// How well an encoder-decoder knows held-out pairs: how likely the targets are, and what it writes for the sources. An
// evaluation of training and `weft eval --task translate|summarize|denoise` are this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "weft/checkpoint/open_model.h"
#include "weft/fine_tuning/objective.h"
#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/pairs/pair_rows.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_decoder.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::fine_tuning {

/// Pairs, and the text of their targets.
struct HeldOutPairs {
  const PairRows& rows;
  std::span<const std::string> references;
};

struct PairMeasuring {
  std::string dtype = "float32";                                             ///< of products
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< in batches; may throw to stop
  std::function<void(std::span<const std::string> texts)> wrote = {};        ///< told what the model has written
};

/// A sentence where a model writes the same for all sources although their targets differ, with what to do; else empty.
std::string doubt_of_texts(std::span<const std::string> texts, std::span<const std::string> references);

/// loss and perplexity, and the metrics of config.generated_examples texts that the model writes, by config.eval_beams.
/// The model is in evaluation mode. Errors: kNumeric for a loss that is not finite; those of the search.
formats::Json held_out_figures(const models::EncoderDecoder& model, const text::PairTokenizer& tokenizer,
                               const HeldOutPairs& pairs, const PairConfig& config, const PairMeasuring& how);

/// What a finished model is measured on.
struct PairMeasurement {
  PairConfig pairs;                                 ///< task, held-out files, how they are read and written
  formats::Json changes = formats::Json::object();  ///< of the model's mechanisms: see opened_pair()
  std::filesystem::path graphs = {};                ///< files that these name lie below
  PairMeasuring how = {.dtype = "auto"};            ///< its dtype: see training::dtype_of_model()
  at::ScalarType weights = at::kFloat;              ///< of the model; bfloat16 with a dtype of float32: no autocast
  /// Told {"where", "source", "text", "truth", "log_probability", "tokens"} of every pair that the model writes for, in
  /// the order of the files, of all pairs without "text" where it writes for none; of denoise without the first two.
  /// `log_probability` is that of the truth with its end, of so many `tokens` (forced decoding).
  std::function<void(const formats::Json& line)> prediction = {};
};

struct MeasuredPairs {
  formats::Json figures;
  ReadSummary read;
  std::string dtype;         ///< of products: float32 or bfloat16
  std::string doubt;         ///< see doubt_of_texts()
  std::int64_t written = 0;  ///< pairs that the model wrote for
};
/// Errors: kArgument for a directory without an encoder-decoder, or without held-out files; those of the files.
MeasuredPairs measure_pairs(const checkpoint::OpenedModel& opened, const PairMeasurement& measurement);

}  // namespace weft::fine_tuning
