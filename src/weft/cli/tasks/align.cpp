// SPDX-License-Identifier: Apache-2.0
// `weft align`: word alignments of texts and their translations, and how far they are from alignments made by people.
#include "weft/tasks/sequences/align.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/score/alignment_figures.h"
#include "weft/cli/front/short_help.h"
#include "weft/cli/tasks/pair_input.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/metrics/translation/symmetrize.h"
#include "weft/readers/input/file_kind.h"
#include "weft/tasks/sequences/aligner.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kAlignExamples =
    "  weft align opus-mt-de-en 'der alte Mann' 'the old man'\n"
    "  weft align runs/de-en --source test.de --target test.en --out test.pharaoh\n"
    "  weft align runs/de-en --reverse runs/en-de --source test.de --target test.en --gold test.gold";

struct AlignConfig {
  std::string source_lang;
  std::string target_lang;
  std::string symmetrize = "grow-diag";
  std::int64_t layer = -1;
  std::vector<std::int64_t> heads;
  bool shift = false;
  bool gold_from_one = false;
  bool skip_long = false;
  std::int64_t batch_size = 32;
  std::int64_t batch_tokens = 16384;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = AlignConfig;
    visit(Field{"source_lang", &C::source_lang,
                "language of the texts; with --reverse also the one that this model writes, as its vocabulary has it"});
    visit(Field{"target_lang", &C::target_lang, "language of the translations, as the model's vocabulary has it"});
    visit(Field{"symmetrize", &C::symmetrize, "with --reverse: how two alignments become one"}.one_of(
        {metrics::kSymmetrizations.begin(), metrics::kSymmetrizations.end()}));
    visit(Field{"layer", &C::layer,
                "layer of the decoder, from 0, whose attention to the source is looked at; -1 for the head that has "
                "learned alignments, else for the last but one, or with --shift for the middle one"}
              .range(-1, 4095));
    visit(Field{"heads", &C::heads, "heads of that layer, from 0, whose mean is taken; none for all of them"});
    visit(Field{"shift", &C::shift,
                "take a token's attention from the step that reads it, and not from the one that writes it"});
    visit(Field{"gold_from_one", &C::gold_from_one, "words in the file of --gold count from 1"});
    visit(Field{"skip_long", &C::skip_long,
                "leave a pair without links where a text is longer than the model reads; without it that is an error"});
    visit(Field{"batch_size", &C::batch_size, "pairs that are computed together"}.range(1, 1 << 16));
    visit(Field{"batch_tokens", &C::batch_tokens, "tokens of texts and translations that are computed together at most"}
              .range(1, 1 << 30));
  }
};

struct AlignCommand {
  TaskFlags task;
  PairSource pairs;
  Json given = Json::object();
  std::string reverse;
  std::string gold;
};

tasks::Aligner open_aligner(const AlignCommand& command, const AlignConfig& config) {
  // Both directories are looked at before the weights of one are read.
  const checkpoint::OpenedModel forward = checkpoint::open_model(command.task.directory);
  std::optional<checkpoint::OpenedModel> backward;
  if (!command.reverse.empty()) {
    backward = checkpoint::open_model(command.reverse);
    backward->need(checkpoint::Ability::kWrite);
  }
  tasks::AlignOptions options;
  const auto set = [&](const checkpoint::OpenedModel& model) {
    const tasks::EncoderSettings settings = encoder_settings(command.task.encoder, "weft align", model.path());
    options.load = {.encoder = settings.encoder, .dtype = settings.dtype, .check_finite = settings.check_finite};
    options.products = settings.products;
  };
  set(forward);
  options.site = {.layer = config.layer, .heads = config.heads, .shift = config.shift};
  options.source_lang = config.source_lang;
  options.target_lang = config.target_lang;
  options.skip_long = config.skip_long;
  tasks::AlignModel there = tasks::open_align_model(forward, options);
  std::optional<tasks::AlignModel> back;
  if (backward) {
    std::swap(options.source_lang, options.target_lang);
    set(*backward);
    back = tasks::open_align_model(*backward, options);
  }
  return {std::move(there),
          std::move(back),
          {.symmetrize = config.symmetrize, .batch = {config.batch_size, config.batch_tokens}}};
}

bool is_record_path(const std::string& path) {
  const std::string ending = readers::small_ending(path, false);
  return ending == ".jsonl" || ending == ".csv" || ending == ".tsv";
}

/// Where links go: records with a column, a file of lines, or stdout.
class AlignmentSink {
 public:
  explicit AlignmentSink(const TaskFlags& flags) : flags_(flags) {
    const bool lines = !flags.out.empty() && !is_record_path(flags.out);
    if (lines) {
      lines_.emplace(flags.out);
    } else {
      results_.emplace(
          flags, ResultForm{.line = [](const Json& result) { return result["alignment"].get<std::string>(); },
                            .columns = [](const Json& result) { return Json{{"alignment", result["alignment"]}}; }});
    }
  }

  void take(const tasks::TaskResult& result, const tasks::Document& pair) {
    ++rows_;
    if (results_) {
      results_->take(result, pair);
    } else {
      lines_->write(result.result["alignment"].get<std::string>() + "\n");
    }
  }

  void finish() {
    if (results_) {
      results_->finish();
      return;
    }
    lines_->commit();
    if (flags_.json) {
      print_json({{"rows", rows_}, {"out", flags_.out}});
    }
  }

 private:
  const TaskFlags& flags_;
  std::optional<ResultSink> results_;
  std::optional<AtomicFile> lines_;
  std::int64_t rows_ = 0;
};

void check_align_flags(const AlignCommand& command) {
  if (command.reverse.empty() && command.given.contains("symmetrize")) {
    throw UsageError("--symmetrize is for two models", "give --reverse DIR");
  }
  if (command.gold.empty() && command.given.contains("gold_from_one")) {
    throw UsageError("--gold-from-one is for --gold FILE");
  }
  const PairSource& pairs = command.pairs;
  if (command.gold == "-" && (pairs.source == "-" || pairs.target == "-" || pairs.file == "-")) {
    throw UsageError("--gold and the texts cannot both be standard input");
  }
}

void run_align(const AlignCommand& command) {
  check_align_flags(command);
  AlignConfig config;
  formats::update_from_json(config, command.given, "weft align");
  const TaskFlags& flags = command.task;
  check_pairs(command.pairs);
  PairInput input(command.pairs, writes_fields(flags));
  std::optional<tasks::GoldAlignments> gold;
  if (!command.gold.empty()) {
    gold.emplace(command.gold, config.gold_from_one);
  }
  // With gold, stdout has the figures alone.
  TaskFlags of_links = flags;
  of_links.json = flags.json && !gold;
  std::optional<AlignmentSink> sink;
  if (!gold || !flags.out.empty()) {
    sink.emplace(of_links);
  }
  tasks::Aligner aligner = open_aligner(command, config);
  constexpr std::int64_t kBatches = 32;
  const auto count = static_cast<std::size_t>(config.batch_size == 1 ? 1 : config.batch_size * kBatches);
  for (auto pairs = input.next(count); !pairs.empty(); pairs = input.next(count)) {
    const std::vector<tasks::TaskResult> results = aligner(pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (gold) {
        gold->take(results[i]);
      }
      if (sink) {
        sink->take(results[i], pairs[i]);
      }
    }
    std::cout.flush();
    require(static_cast<bool>(std::cout), "writing to standard output failed");
  }
  aligner.warn();
  // Lines of --gold that belong to no pair are found before a file appears.
  const metrics::AlignmentScorer* figures = gold ? &gold->finish() : nullptr;
  if (sink) {
    sink->finish();
  }
  if (figures != nullptr) {
    print_alignment_figures(*figures, flags.json);
  }
}

}  // namespace

void add_align(CLI::App& parent) {
  auto command = std::make_shared<AlignCommand>();
  CLI::App& app = add_command(parent, "align", kAlignExamples);
  add_task_directory(app, command->task);
  add_pair_arguments(app, command->pairs);
  add_model_argument(app, "--reverse", command->reverse,
                     "directory of a model that translates the other way; both alignments become one")
      .option_text("DIR");
  app.add_option("--gold", command->gold,
                 "links that people made, a line for each pair: 0-0 is a sure link, 1p2 or 1?2 a possible one; prints "
                 "the alignment error rate instead of the links")
      ->option_text("FILE");
  app.add_option("--out", command->task.out,
                 "write the links to FILE, a line for each pair; to FILE.jsonl, FILE.csv or FILE.tsv the records that "
                 "were read, with a column `alignment`")
      ->option_text("FILE");
  add_fields<AlignConfig>(app, {.title = "Options"}, command->given);
  ShortHelp first{.flags = flags_so_far(app)};
  add_encoder_flags(app, command->task.encoder);
  add_json_flag(app, command->task.json);
  for (const char* flag : {"--dtype", "--threads", "--json"}) {
    first.flags.emplace_back(flag);
  }
  show_first(app, first);
  app.callback([command] { run_align(*command); });
}

}  // namespace weft::cli
