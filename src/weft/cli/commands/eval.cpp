// SPDX-License-Identifier: Apache-2.0
// `weft eval`: bits per byte of held-out text under a trained decoder; the metrics of a task by cli/fine_tuning.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/model_directory.h"
#include "weft/cli/commands/table.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/fine_tuning/eval_task.h"
#include "weft/cli/fine_tuning/fine_tuning_flags.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/threads.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/data/text_corpus.h"
#include "weft/training/evaluation/evaluate.h"

namespace weft::cli {
namespace {

constexpr std::string_view kEvalExamples =
    "  weft eval run --text held-out.txt\n"
    "  weft eval run --text books/val --context 256 --max-bytes 1000000 --json\n"
    "  weft eval run --task classify --data test.tsv --predictions predictions.jsonl";

struct EvalConfig {
  std::vector<std::string> text;
  std::int64_t context = 0;
  std::int64_t max_bytes = 0;
  std::string dtype = "auto";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EvalConfig;
    visit(Field{"text", &C::text, "files and folders to score, in this order"});
    visit(Field{"context", &C::context, "tokens the model sees at once; 0 is what it was made for"}.at_least(0));
    visit(Field{"max_bytes", &C::max_bytes, "score only so many bytes from the start; 0 is all"}.at_least(0));
    visit(Field{"dtype", &C::dtype, "products in float32 or bfloat16; auto is bfloat16 where that is fast"}.one_of(
        {"auto", "float32", "bfloat16"}));
  }
};

struct EvalOptions {
  std::string run;
  EvalTaskOptions task;
  formats::Json given = formats::Json::object();
  std::int64_t threads = 0;
  bool json = false;
};

training::EvalResult evaluate(const std::string& run, const EvalConfig& config) {
  const models::LanguageModel model = checkpoint::load_model(run);
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(run);
  // Cut while reading: --max-bytes of a large corpus reads no more than that.
  const std::string text = data::TextCorpus(config.text).text(config.max_bytes);
  training::EvaluateOptions options;
  options.context = config.context;
  options.max_bytes = config.max_bytes;
  options.dtype = config.dtype;
  const InterruptGuard guard;
  ProgressBar bar("evaluating", 1.0);
  options.progress = [&bar](std::int64_t done, std::int64_t total) {
    bar.update(static_cast<double>(done) / static_cast<double>(total));
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", done, " of ", total, " tokens");
    }
  };
  return training::evaluate(model, *tokenizer, text, options);
}

void run_task(const EvalOptions& options) {
  EvalTaskOptions task = options.task;
  task.run = options.run;
  task.json = options.json;
  for (const auto& [name, value] : options.given.items()) {
    if (name != "dtype") {
      throw UsageError(flag_name(name) + " is for language models, and the task is " + task.task, "--data names data");
    }
    task.dtype = value.get<std::string>();
  }
  settle_threads(options.threads);
  eval_task(task);
}

void run_eval(const EvalOptions& options) {
  if (!options.task.task.empty() && options.task.task != "lm") {
    run_task(options);
    return;
  }
  if (!options.task.data.empty()) {
    throw UsageError("--data is for the tasks of weft train, and --task names none", "--text names text to score");
  }
  EvalConfig config;
  if (!options.given.contains("text")) {
    throw UsageError("weft eval needs --text PATH", "for example: weft eval " + options.run + " --text held-out.txt");
  }
  formats::update_from_json(config, options.given, "weft eval");
  settle_threads(options.threads);
  const training::EvalResult result = evaluate(options.run, config);
  if (options.json) {
    print_json({{"bits_per_byte", result.bits_per_byte},
                {"bytes", result.bytes},
                {"context", result.context},
                {"seconds", result.seconds}});
    return;
  }
  std::cout << name_table({{"bits per byte", fixed(result.bits_per_byte, 4)},
                           {"bytes", digits(result.bytes)},
                           {"context", digits(result.context) + " tokens"},
                           {"seconds", fixed(result.seconds, 1)}});
}

}  // namespace

void add_eval(CLI::App& parent) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App& app = add_command(parent, "eval", "bits per byte of a text, or the metrics of a task on labelled data",
                              std::string(kEvalExamples));
  app.add_option("RUN", options->run, "run or model directory")->required();
  std::vector<std::string> tasks = task_names();
  std::erase(tasks, "mlm");
  app.add_option("--task", options->task.task,
                 "lm (the default) scores each byte of --text once with half a context before it; the others measure a "
                 "fine-tuned model on --data")
      ->check(CLI::IsMember(tasks))
      ->option_text("NAME");
  add_fields<EvalConfig>(app, {.title = "Options"}, options->given);
  app.add_option("--data", options->task.data, "labelled files and folders, as --train-data of weft train")
      ->option_text("PATH...")
      ->group("Data of a task");
  app.add_option("--predictions", options->task.predictions, "file to write a JSON line to for each example")
      ->option_text("FILE")
      ->group("Data of a task");
  add_example_flags(app, options->task.examples);
  add_threads_flag(app, options->threads);
  add_json_flag(app, options->json);
  app.callback([options] { run_eval(*options); });
}

}  // namespace weft::cli
