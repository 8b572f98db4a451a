// SPDX-License-Identifier: Apache-2.0
// A dtype that runs emulated is said to be: nobody should wonder why bfloat16 is no faster.
#include "weft/cli/training/announcement.h"

#include <algorithm>
#include <iostream>

#include "weft/cli/commands/attention_summary.h"
#include "weft/cli/commands/run_summary.h"
#include "weft/cli/output.h"
#include "weft/core/cpu.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/data/text_corpus.h"
#include "weft/models/language_model.h"
#include "weft/readers/input/file_format.h"
#include "weft/training/processes/process_group.h"

namespace weft::cli {
namespace {

// Looks at the files once more, cheaply, so that a wrong path fails before a model is built.
std::string text_size(const std::vector<std::string>& paths) {
  const data::TextCorpus corpus(paths);
  const bool headers = std::any_of(corpus.files().begin(), corpus.files().end(), [](const data::TextFile& file) {
    return readers::format_of_name(file.path) == "fasta";
  });
  return concat(digits(corpus.bytes()), " bytes in ", corpus.files().size(),
                corpus.files().size() == 1 ? " file" : " files",
                headers ? "; FASTA headers are text here, weft data genome leaves them out" : "");
}

/// Parameters of a model that is never filled: nothing is allocated for it.
std::int64_t parameter_count(const models::TransformerConfig& config) {
  return models::LanguageModelImpl(config, at::TensorOptions().device(at::kMeta)).parameter_count();
}

std::string dtype_text(const std::string& dtype) {
  const std::string settled = training::settled_dtype(dtype);
  const bool emulated = settled == "bfloat16" && !has_fast_bfloat16();
  return settled +
         (emulated ? ", emulated: this processor is slow at it, so products of rounded numbers run in float32" : "");
}

}  // namespace

std::string length_text(const training::TrainerConfig& config) {
  return config.steps > 0 ? concat(digits(config.steps), " steps") : duration_text(60 * config.minutes);
}

std::string parameters_text(const training::Task& task) {
  std::int64_t numbers = 0;
  for (const auto& [name, parameter] : task.parameters()) {
    numbers += parameter.numel();
  }
  return digits(numbers) + " parameters";
}

void add_machine_rows(const training::TrainerConfig& trainer, std::int64_t threads, Rows& rows) {
  rows.emplace_back("dtype", dtype_text(trainer.dtype));
  rows.emplace_back("threads", std::to_string(trainer.threads > 0 ? trainer.threads : threads));
}

void announce(const training::TrainerConfig& trainer, const models::TransformerConfig& model, std::int64_t threads) {
  Rows rows = model_rows(model, parameter_count(model));
  for (auto& row : attention_rows(summarize_attention(model, trainer.context), trainer.context)) {
    rows.push_back(std::move(row));
  }
  add_machine_rows(trainer, threads, rows);
  add_text_rows(trainer, rows);
  std::cerr << name_table(rows) << std::flush;
}

void add_text_rows(const training::TrainerConfig& trainer, Rows& rows) {
  const std::int64_t group = training::processes().size();
  const std::int64_t parts = trainer.gradient_accumulation * (trainer.processes == 0 ? group : trainer.processes);
  rows.emplace_back("batch", concat(trainer.batch_size * parts, " windows of ", digits(trainer.context),
                                    " tokens a step, for ", length_text(trainer)));
  if (group > 1) {
    rows.emplace_back("processes", std::to_string(group));
  }
  rows.emplace_back("training text", text_size(trainer.train_text));
  if (!trainer.eval_text.empty()) {
    rows.emplace_back("held-out text", text_size(trainer.eval_text));
  }
}

}  // namespace weft::cli
