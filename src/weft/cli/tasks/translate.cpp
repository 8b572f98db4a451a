// SPDX-License-Identifier: Apache-2.0
// `weft translate`: texts, files of texts and whole documents into another language.
#include "weft/tasks/sequences/translate.h"

#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/tasks/sequence_command.h"
#include "weft/tasks/sequences/languages.h"
#include "weft/text/sentences/sentences.h"

namespace weft::cli {
namespace {

constexpr const char* kTranslateExamples =
    "  weft translate opus-mt-en-de 'The loom weaves the thread.'\n"
    "  weft translate opus-mt-en-ROMANCE --target-lang fr --file captions.en --num-beams 4\n"
    "  weft translate opus-mt-de-en --document --file novel.txt --json";

struct TranslateConfig {
  std::string source_lang;
  std::string target_lang;
  bool split_sentences = true;
  bool document = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TranslateConfig;
    visit(Field{
        "source_lang", &C::source_lang,
        "language of the texts: eng_Latn, en_XX, en for a model of many; else checked against the one that the model "
        "names"});
    visit(Field{"target_lang", &C::target_lang,
                "language to write, as the model's vocabulary has it: fr for >>fr<<; a text that begins with >>fr<< "
                "says it itself"});
    visit(Field{"split_sentences", &C::split_sentences,
                "translate sentence by sentence; otherwise each text whole, which must not be too long"});
    visit(Field{"document", &C::document,
                "a whole file is one text, whose sentences may go over lines; blank lines stay"});
  }
};

struct TranslateCommand {
  SequenceFlags flags;
  formats::Json given = formats::Json::object();
};

void run_translate(const TranslateCommand& command) {
  TranslateConfig config;
  formats::update_from_json(config, command.given, "weft translate");
  OpenSequenceTask task = open_sequence_task(command.flags, config.document, "weft translate");
  if (!task.model) {
    return;
  }
  tasks::TranslateOptions options{
      .code = tasks::language_code(*task.model, config.source_lang, config.target_lang),
      .languages = tasks::framed_languages(*task.model, config.source_lang, config.target_lang),
      .batch = task.run.batch};
  if (config.split_sentences) {
    options.split = [rules = text::SentenceRules{.lines = !config.document}](std::string_view document) {
      return text::find_sentences(document, rules);
    };
  }
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
  add_fields<TranslateConfig>(app, {.title = "Options"}, command->given);
  add_sequence_flags(app, command->flags);
  app.callback([command] { run_translate(*command); });
}

}  // namespace weft::cli
