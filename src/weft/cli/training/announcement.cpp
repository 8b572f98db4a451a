// SPDX-License-Identifier: Apache-2.0
// A dtype that runs emulated is announced as such: nobody should wonder why bfloat16 is no faster.
#include "weft/cli/training/announcement.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weft/attention/devices/device.h"
#include "weft/attention/mechanisms/spec.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/data/text_corpus.h"
#include "weft/layers/precision.h"
#include "weft/models/encoder/batch.h"
#include "weft/models/encoder_model.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/language_model.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/media/media_files.h"
#include "weft/readers/media/wav.h"
#include "weft/report/attention_rows.h"
#include "weft/report/card_rows.h"
#include "weft/training/precision.h"
#include "weft/training/processes/process_group.h"

namespace weft::cli {
namespace {

// What is said where text to be learned as it stands is that of records: the first such file. Only so many are opened.
std::string records_note(const std::vector<data::TextFile>& files) {
  constexpr std::size_t kMostOpened = 64;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string named = readers::format_of_name(files[i].path);
    const bool open = (named.empty() || named == "text") && i < kMostOpened;
    const readers::FileKind kind = open ? readers::kind_of_file(files[i].path) : readers::FileKind{named, ""};
    if (kind.format == "fasta") {
      return "; FASTA headers are text here, weft data genome leaves them out";
    }
    if (kind.sure && kind.format != "text" && !kind.format.empty()) {
      return concat("; ", quote(files[i].path.native(), 4096), " is ", readers::kind_text(kind),
                    ", and all of it is text here, names of fields and marks between them too");
    }
  }
  return "";
}

// Looks at the files once more, cheaply, so that a wrong path fails before a model is built.
std::string text_size(const std::vector<std::string>& paths) {
  const data::TextCorpus corpus(paths);
  return concat(digits(corpus.bytes()), " bytes in ", corpus.files().size(),
                corpus.files().size() == 1 ? " file" : " files", records_note(corpus.files()));
}

std::string data_kind_text(const training::TextConfig& text) {
  const training::DataKind kind = training::data_kind(text);
  return kind == training::DataKind::kText ? "text" : (kind == training::DataKind::kSound ? "sound" : "pictures");
}

// Of pictures and sound what their names and first bytes tell: they are decoded once, by the task.
std::string size_text(const training::TextConfig& text, const std::vector<std::string>& paths) {
  if (training::data_kind(text) == training::DataKind::kText) {
    return text_size(paths);
  }
  const bool pictures = training::data_kind(text) == training::DataKind::kPictures;
  const readers::MediaFiles list = pictures ? readers::list_pictures(paths) : readers::list_sounds(paths);
  const std::string files = counted(std::ssize(list.files), "file");
  if (pictures) {
    return concat(files, ", ", readers::shape_text(readers::first_shape(list)));
  }
  const readers::WavFile first(list.files.front());
  return concat(files, ", ", digits(first.rate()), " samples a second",
                first.channels() > 1 ? concat(", the first of ", first.channels(), " channels") : "");
}

// Parameters of a model that is never filled: nothing is allocated for it.
std::int64_t parameter_count(const models::TransformerConfig& config) {
  return models::LanguageModelImpl(config, at::TensorOptions().device(at::kMeta)).parameter_count();
}

std::string shown_dtype(const training::TrainerConfig& trainer) {
  const c10::Device device = attention::parse_device(trainer.device);
  const std::string used = training::resolved_dtype(trainer.dtype, device);
  const bool emulated = used == "bfloat16" && layers::is_emulated(device.type(), at::kBFloat16);
  return used +
         (emulated ? ", emulated: this processor is slow at it, so products of rounded numbers run in float32" : "");
}

// "2,000 steps" or "5m00s".
std::string length_text(const training::TrainerConfig& config) {
  return config.steps > 0 ? counted(config.steps, "step") : duration_text(60 * config.minutes);
}

// "1,234 parameters": those that `task` trains.
std::string parameters_text(const training::Task& task) {
  std::int64_t numbers = 0;
  for (const auto& [name, parameter] : task.parameters()) {
    numbers += parameter.numel();
  }
  return digits(numbers) + " parameters";
}

Rows text_rows(const training::TrainerConfig& trainer, const training::TextConfig& text) {
  const std::int64_t group = training::processes().size();
  const std::int64_t parts = trainer.gradient_accumulation * (trainer.processes == 0 ? group : trainer.processes);
  Rows rows;
  rows.emplace_back("batch", concat(trainer.batch_size * parts, " windows of ", digits(text.context),
                                    " tokens a step, for ", length_text(trainer)));
  if (group > 1) {
    rows.emplace_back("processes", std::to_string(group));
  }
  const std::string kind = data_kind_text(text);
  rows.emplace_back("training " + kind, size_text(text, training::training_paths(text)));
  if (!training::held_out_paths(text).empty()) {
    rows.emplace_back("held-out " + kind, size_text(text, training::held_out_paths(text)));
  }
  return rows;
}

std::string split_text(const fine_tuning::ReadSummary& summary, std::int64_t tokens, const char* what) {
  std::string text = concat(digits(summary.examples), " ", what, ", ", digits(tokens), " tokens");
  if (!summary.records.kinds.empty()) {
    text += concat("; read as ", joined(summary.records.kinds, ", ", [](const auto& kind) {
                     return concat(kind.first, " (", kind.second, kind.second == 1 ? " file)" : " files)");
                   }));
  }
  if (summary.records.skipped > 0) {
    text += concat("; skipped as malformed: ", digits(summary.records.skipped),
                   ", the first: ", summary.records.first_skipped);
  }
  if (summary.cut > 0) {
    text += concat("; ", digits(summary.cut), " were cut, which leaves out ", digits(summary.left_out), " tokens");
  }
  return text;
}

std::string head_text(const fine_tuning::Prepared& prepared) {
  constexpr std::size_t kMostShown = 8;
  std::string text = prepared.new_tensors.empty() ? "that of the model" : "new";
  for (std::size_t i = 0; i < std::min(prepared.head.labels.size(), kMostShown); ++i) {
    text += (i == 0 ? ", labels " : ", ") + prepared.head.labels[i];
  }
  return prepared.head.labels.size() > kMostShown
             ? concat(text, " and ", prepared.head.labels.size() - kMostShown, " more")
             : text;
}

// What the settings of an encoder's attention do not do. `binds`: the task names positions for `input` of a pattern.
void add_caution_rows(const models::EncoderModel& model, bool binds, Rows& rows) {
  const std::vector<layers::BlockConfig> blocks =
      models::encoder_rules(model->config()).stack(model->config(), model->options()).blocks;
  for (auto& row : report::caution_rows(tasks::summarize_attention(blocks, 0))) {
    rows.push_back(std::move(row));
  }
  const auto names_input = [](const layers::BlockConfig& block) {
    return !block.attention.empty() && attention::parse_mechanism(block.attention, block.directory).needs_input;
  };
  if (!binds && std::any_of(blocks.begin(), blocks.end(), names_input)) {
    rows.emplace_back("note", "`input` of the attention stands for no position: the task names none");
  }
}

// Of examples and pairs: `batch` is what an optimiser step has of them on a process.
Rows example_rows(const training::TrainerConfig& trainer, const std::string& batch, std::int64_t epoch_steps) {
  const std::int64_t parts = parts_per_step(trainer);
  return {{"batch",
           concat(parts > 1 ? concat(parts, " of ") : "", batch, " a step, ", digits(epoch_steps), " steps an epoch")},
          {"length", length_text(trainer)}};
}

}  // namespace

void Announcer::goes_on_after(std::int64_t steps) { write_line(concat("resuming after step ", digits(steps), "\n")); }

void Announcer::print(const Announcement& announcement) const {
  Rows rows = announcement.model;
  const training::DistillationConfig& teacher = announcement.distillation;
  if (distills(teacher)) {
    rows.emplace_back("teacher", concat(teacher.distill, ", ", teacher.distill_weight, " of the loss at temperature ",
                                        teacher.distill_temperature));
  }
  const training::TrainerConfig& trainer = announcement.trainer;
  rows.emplace_back("dtype", shown_dtype(trainer));
  rows.emplace_back("threads", std::to_string(trainer.threads > 0 ? trainer.threads : threads_));
  rows.insert(rows.end(), announcement.steps.begin(), announcement.steps.end());
  write_line(name_table(rows));
}

Announcement announcement_of(const training::TextRun& run, const models::TransformerConfig& model) {
  Rows rows = report::model_rows(model, parameter_count(model));
  for (auto& row : report::attention_rows(tasks::summarize_attention(model, run.text.context), run.text.context)) {
    rows.push_back(std::move(row));
  }
  if (model.memory_length > 0) {
    rows.emplace_back(
        "memory", concat(digits(model.memory_length), " tokens before each segment, in every layer; streams of up to ",
                         digits(training::stream_tokens(run.text, model.memory_length)), " tokens"));
  }
  if (model.compressed_memory_length > 0) {
    rows.emplace_back("compressed", concat(digits(model.compressed_memory_length), " rows of ", model.compression_rate,
                                           " tokens before those, by ", model.compression));
  }
  return {std::move(rows), run.distillation, run.trainer, text_rows(run.trainer, run.text)};
}

Announcement announcement_of(const fine_tuning::PreparedText& prepared) {
  Rows rows = {{"task", prepared.config.task},
               {"model", concat(prepared.task->model()->config().model_type, ", ", parameters_text(*prepared.task),
                                ", ", prepared.config.model)}};
  if (!prepared.new_tensors.empty()) {
    rows.emplace_back("random", joined(prepared.new_tensors, ", "));
  }
  add_caution_rows(prepared.task->model(), false, rows);
  return {std::move(rows), prepared.distillation, prepared.trainer, text_rows(prepared.trainer, prepared.text)};
}

Announcement announcement_of(const fine_tuning::Prepared& prepared) {
  const training::TrainerConfig& trainer = prepared.settings.trainer;
  const fine_tuning::Objective& objective = prepared.task->objective();
  Rows rows = {{"task", prepared.settings.task.task},
               {"model", concat(objective.setup().config.model_type, ", ", parameters_text(*prepared.task))}};
  if (objective.head() != models::Head::kNone) {
    rows.emplace_back("head", head_text(prepared));
  }
  for (const auto& remark : objective.remarks()) {
    rows.push_back(remark);
  }
  if (!prepared.new_tensors.empty()) {
    rows.emplace_back("random", joined(prepared.new_tensors, ", "));
  }
  const fine_tuning::EncodedRows& examples = objective.rows(fine_tuning::Split::kTraining);
  add_caution_rows(prepared.task->model(), models::names_positions(objective.head()) || examples.has_globals(), rows);
  const std::string batch = prepared.settings.task.batch_tokens > 0
                                ? concat(digits(prepared.settings.task.batch_tokens), " tokens")
                                : concat(trainer.batch_size, " examples");
  Rows steps = example_rows(trainer, batch, prepared.epoch_steps);
  steps.emplace_back("training data", split_text(prepared.training, examples.tokens(), "examples"));
  if (prepared.held_out.examples > 0) {
    steps.emplace_back("held-out data", split_text(prepared.held_out,
                                                   objective.rows(fine_tuning::Split::kHeldOut).tokens(), "examples"));
  }
  return {std::move(rows), prepared.settings.distillation, trainer, std::move(steps)};
}

Announcement announcement_of(const fine_tuning::PreparedPairs& prepared) {
  const training::TrainerConfig& trainer = prepared.settings.trainer;
  const fine_tuning::PairConfig& pairs = prepared.settings.pairs;
  const models::EncoderDecoderConfig& model = prepared.task->model()->config();
  Rows rows = {{"task", pairs.task}};
  if (pairs.model.empty()) {
    rows.emplace_back("preset", pairs.preset);
  } else {
    rows.emplace_back("begins with", concat(model.model_type, ", ", pairs.model));
  }
  const std::string sides = model.decoder_vocab_size > 0
                                ? concat(" tokens for sources, ", digits(model.decoder_vocab_size), " for targets")
                                : std::string(" tokens for sources and targets");
  const Rows more = {
      {"model", concat(model.encoder_layers, " + ", model.decoder_layers, " layers, width ", model.d_model, ", ",
                       counted(model.encoder_attention_heads, "head"), ", feed-forward ", model.encoder_ffn_dim, ", ",
                       model.norm_position, "-norm, ", parameters_text(*prepared.task))},
      {"vocabulary", concat(digits(model.vocab_size), sides)}};
  rows.insert(rows.end(), more.begin(), more.end());
  const Rows attention = report::attention_rows(tasks::summarize_attention(model), model);
  rows.insert(rows.end(), attention.begin(), attention.end());
  Rows steps = example_rows(trainer, digits(pairs.batch_tokens) + " tokens a side", prepared.epoch_steps);
  const fine_tuning::PairData& data = prepared.task->data();
  steps.emplace_back("training data", split_text(prepared.training, data.training.tokens(), "pairs"));
  if (data.held_out.size() > 0) {
    steps.emplace_back("held-out data", split_text(prepared.held_out, data.held_out.tokens(), "pairs"));
  }
  return {.model = std::move(rows), .trainer = trainer, .steps = std::move(steps)};
}

}  // namespace weft::cli
