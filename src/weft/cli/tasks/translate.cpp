// SPDX-License-Identifier: Apache-2.0
// `weft translate`: texts, files of texts and whole documents into another language.
#include "weft/tasks/sequences/translate.h"

#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/tasks/sequence_command.h"
#include "weft/hub/models.h"
#include "weft/tasks/parameters/joint_writing.h"
#include "weft/tasks/parameters/writing.h"
#include "weft/tasks/sequences/joint_models.h"
#include "weft/tasks/sequences/tree_writing.h"

namespace weft::cli {
namespace {

constexpr const char* kTranslateExamples =
    "  weft translate opus-mt-en-de 'The loom weaves the thread.'\n"
    "  weft translate opus-mt-en-ROMANCE --target-lang fr --file captions.en --num-beams 4\n"
    "  weft translate opus-mt-de-en --document --file novel.txt --json";

struct TranslateCommand {
  SequenceFlags flags;
  formats::Json given = formats::Json::object();
  formats::Json joint = formats::Json::object();
};

// The models that write together are there, and only trees may come, where that is asked for.
void join_writers(const TranslateCommand& command, const tasks::JointWritingConfig& joint,
                  tasks::SequenceModel& model) {
  if (joint.with.empty() && !joint.model_weights.empty()) {
    throw UsageError("--model-weights are of several models, and --with names none");
  }
  if (!joint.model_weights.empty() && joint.model_weights.size() != joint.with.size() + 1) {
    throw UsageError(concat("--model-weights: expected ", joint.with.size() + 1,
                            " numbers, one for DIR and one for each ", "model of --with, found ",
                            joint.model_weights.size()));
  }
  if (joint.with.empty() && command.joint.contains("mean")) {
    throw UsageError("--mean is of several models, and --with names none");
  }
  const std::vector<double> weights = tasks::weights_of(joint.model_weights);
  std::vector<tasks::SequenceModel> others;
  for (const std::string& directory : joint.with) {
    SequenceFlags flags = command.flags;
    flags.task.directory = hub::local_model(directory).string();
    others.push_back(*open_sequence_task(flags, checkpoint::open_model(flags.task.directory), "weft translate").model);
  }
  if (!others.empty()) {
    const bool by_logarithms = joint.mean == "logarithms";
    tasks::join_models(model, others, weights,
                       by_logarithms ? generation::JointMean::kLogarithms : generation::JointMean::kProbabilities);
  }
  if (!joint.tree_labels.empty()) {
    tasks::write_trees(model, tasks::symbols_in(joint.tree_labels));
  }
}

void run_translate(const TranslateCommand& command) {
  tasks::TranslateConfig config;
  formats::update_from_json(config, command.given, "weft translate");
  tasks::JointWritingConfig joint;
  formats::update_from_json(joint, command.joint, "weft translate");
  config.split_sentences = config.split_sentences && joint.tree_labels.empty();
  OpenSequenceTask task = open_sequence_task(command.flags, config.document, "weft translate");
  if (!task.model) {
    return;
  }
  join_writers(command, joint, *task.model);
  const tasks::TranslateOptions options = tasks::translate_options(config, *task.model, task.run.batch);
  const auto translate = [&](std::span<const tasks::Document> documents) {
    return tasks::translate(*task.model, documents, options);
  };
  run_sequence_task(command.flags, task.run, config.document, translate, "translation_text");
}

}  // namespace

void add_translate(CLI::App& parent) {
  auto command = std::make_shared<TranslateCommand>();
  CLI::App& app = add_command(parent, "translate", kTranslateExamples);
  add_task_directory(app, command->flags.task);
  add_text_arguments(app, command->flags.source, false);
  add_fields<tasks::TranslateConfig>(app, {.title = "Options"}, command->given);
  add_fields<tasks::JointWritingConfig>(app, {.title = "Several models, and trees"}, command->joint);
  add_sequence_flags(app, command->flags);
  app.callback([command] { run_translate(*command); });
}

}  // namespace weft::cli
