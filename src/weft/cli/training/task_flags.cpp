// SPDX-License-Identifier: Apache-2.0
// Groups of fields, as help has them.
#include "weft/cli/training/task_flags.h"

#include "weft/fine_tuning/pairs/pair_config.h"
#include "weft/fine_tuning/settings.h"
#include "weft/models/transformer_config.h"
#include "weft/runs/train/fields.h"

namespace weft::cli {
namespace {

using fine_tuning::DataSettings;
using fine_tuning::FineTuningConfig;
using fine_tuning::PairConfig;
using fine_tuning::RetrievalConfig;

}  // namespace

void add_fine_tuning_flags(CLI::App& app, formats::Json& given) {
  add_fields<FineTuningConfig>(
      app,
      {.title = "Fine-tuning (all tasks except lm and mlm; with --model these two begin with that model)",
       .left_out = runs::common_fields()},  // among the flags of language models
      given);
  add_fields<DataSettings>(app, {.title = "Examples (all tasks except lm and mlm)"}, given);
  add_fields<RetrievalConfig>(app, {.title = "Embedding and reranking (embed, rerank)"}, given);
}

void add_pair_flags(CLI::App& app, formats::Json& given) {
  add_fields<PairConfig>(app, {.title = "Pairs (translate, summarize, denoise)", .only = runs::pair_fields()}, given);
  add_fields<models::EncoderDecoderConfig>(
      app,
      {.title = "Encoder-decoder (translate, summarize, denoise; --layers, --width, --heads and --attention, too)",
       .only = runs::pair_shape_fields()},
      given);
}

void add_example_flags(CLI::App& app, formats::Json& given) {
  add_fields<DataSettings>(
      app, {.title = "Examples (all tasks except lm and mlm); without a flag, the value of the training"}, given);
}

std::map<std::string_view, std::string> fine_tuning_remarks() {
  static const formats::Json defaults = fine_tuning::fine_tuning_defaults();
  std::map<std::string_view, std::string> remarks;
  for (const auto& [name, value] : defaults.items()) {
    remarks[name] = (value.is_string()           ? value.get<std::string>()
                     : value.is_number_integer() ? value.dump()
                                                 : short_number(value.get<double>())) +
                    " to fine-tune";
  }
  remarks["batch_size"] += ", where it counts examples";
  remarks["steps"] = "or by --epochs";
  remarks["label_smoothing"] = "over the labels of a classifier";
  return remarks;
}

}  // namespace weft::cli
