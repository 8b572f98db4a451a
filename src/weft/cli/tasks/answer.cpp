// SPDX-License-Identifier: Apache-2.0
// `weft answer`: answers that stand in a document of any length, or in a store of texts.
#include "weft/tasks/answer.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/cli/tasks/text_input.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"
#include "weft/readers/input/file_kind.h"
#include "weft/readers/input/input_texts.h"
#include "weft/tasks/parameters/answering.h"
#include "weft/tasks/search/retrieved_answer.h"

namespace weft::cli {
namespace {

constexpr const char* kAnswerExamples =
    "  weft answer longformer-squad --question 'Who wove it?' --file story.txt\n"
    "  weft answer squad2 --question 'Who?' --question 'When?' --file story.txt --handle-impossible-answer --json\n"
    "  weft answer squad2 --question 'Where is it?' 'The loom stands in the attic.'\n"
    "  weft answer squad2 --file questions.csv --question-field question --text-field context --out answers.csv\n"
    "  weft answer squad2 --retrieve notes.weft --passages 20 --question 'Who wove it?' --json";

struct AnswerCommand {
  TaskFlags flags;
  std::vector<std::string> texts;
  std::vector<std::string> questions;
  std::vector<std::string> files;
  std::string question_field;
  readers::InputTextOptions reading = {};
  formats::Json given = formats::Json::object();
  std::string store;
  formats::Json retrieve_given = formats::Json::object();
};

// "loom.txt:120-130" for an answer of a store, "loom.txt" where it stands in the title.
std::string place_in_store(const formats::Json& answer) {
  const std::string id = one_line(answer["id"].get<std::string>());
  return answer["byte_start"].is_null() ? id : concat(id, ":", answer["byte_start"], "-", answer["byte_end"]);
}

// "the weaver 0.8123 (120-130)"; "no answer 0.7" for an empty one.
std::string one_answer(const formats::Json& answer) {
  const auto text = answer["answer"].get<std::string>();
  const std::string score = score_text(answer["score"].get<double>());
  if (!text.empty() && answer.contains("id")) {
    return concat(text, "  ", score, " (", place_in_store(answer), ")");
  }
  return text.empty() ? "no answer " + score
                      : concat(text, "  ", score, " (", answer["start"].get<std::int64_t>(), "-",
                               answer["end"].get<std::int64_t>(), ")");
}

std::string answer_line(const formats::Json& result) {
  std::string line = joined(result.is_array() ? result : formats::Json::array({result}), " | ", one_answer);
  // A document has lines, a result is one.
  for (char& byte : line) {
    byte = byte == '\n' || byte == '\r' ? ' ' : byte;
  }
  return line;
}

// Nothing for a file that is no text at all, or whose name says what it does not hold: whoever reads it says so.
std::optional<readers::FileKind> kind_if_known(readers::ByteSource& file) {
  try {
    return readers::decide_kind(file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kFormat) {
      throw;
    }
    return std::nullopt;
  }
}

// Names of fields and marks of JSON would be parts of the one document.
void warn_of_records(readers::ByteSource& file) {
  const std::optional<readers::FileKind> kind = kind_if_known(file);
  if (kind && kind->sure && kind->format != "text" && kind->format != "fasta" && kind->format != "conll") {
    log_warning(file.name(), ": ", kind->by_content() ? kind->reason : "its name says " + kind->format,
                ", but it is read whole, as one document; --question-field NAME reads its records, each with a "
                "question of its own");
  }
}

std::vector<tasks::Document> documents_of(const AnswerCommand& command) {
  if (!command.texts.empty() && !command.files.empty()) {
    throw UsageError("documents as arguments and --file cannot both be given");
  }
  return whole_documents(command.texts, command.files, warn_of_records);
}

// The best answer, empty for none; all that were asked for where these are several.
formats::Json answer_columns(const formats::Json& result) {
  const formats::Json& best = result.is_array() ? result.front() : result;
  formats::Json columns = {{"predicted_answer", best["answer"]}, {"predicted_score", best["score"]}};
  if (best.contains("id")) {
    columns["predicted_id"] = best["id"];
  }
  if (result.is_array()) {
    columns["predicted_answers"] = result;
  }
  return columns;
}

using Ask = std::function<void(const std::string& question, const tasks::Document& document)>;

// Asks the next record; false behind the last. One that is malformed goes to `on_error` where there is one.
bool ask_next(readers::InputTexts& records, const Ask& ask, const VisitError& on_error) {
  readers::InputText text;
  try {
    if (!records.next(text)) {
      return false;
    }
  } catch (const readers::MalformedRecord& error) {
    if (!on_error) {
      throw;
    }
    on_error(error.what(), {.first = {}, .name = "a record"});
    return true;
  }
  const std::string question = text.second ? *text.second : text.first;
  ask(question,
      {std::move(text.first), {}, std::move(text.where), std::move(text.fields), std::move(text.names_of_texts)});
  return true;
}

constexpr std::array<std::string_view, 1> kContext = {"context"};

// Records with a question and a document each.
void ask_records(const AnswerCommand& command, const Ask& ask, const VisitError& on_error) {
  readers::InputTextOptions reading = command.reading;
  if (command.store.empty()) {
    reading.pairs = true;
    reading.pair_field = command.question_field;
    reading.usual_texts = kContext;
  } else {
    reading.text_field = command.question_field;
  }
  reading.keep_fields = writes_fields(command.flags);
  for (const std::string& file : command.files.empty() ? std::vector<std::string>{"-"} : command.files) {
    readers::InputTexts records(readers::ByteSource::stream(file), reading);
    bool any = false;
    while (ask_next(records, ask, on_error)) {
      any = true;
    }
    require(any, [&] { return file == "-" ? "standard input" : quote(file, 4096); }, ": has no record with a question");
  }
}

void ask_documents(const AnswerCommand& command, std::vector<tasks::Document> documents, const Ask& ask) {
  for (tasks::Document& document : documents) {
    for (const std::string& question : command.questions) {
      if (!command.flags.out.empty()) {
        document.fields = {{"document", document.name}, {"question", question}};
      }
      ask(question, document);
    }
  }
}

void check_retrieval(const AnswerCommand& command) {
  if (!command.texts.empty()) {
    throw UsageError("--retrieve reads the passages of a store; documents cannot be given beside it");
  }
  if (command.question_field.empty() && !command.files.empty()) {
    throw UsageError("with --retrieve --file has questions", "give --question-field NAME");
  }
  if (!command.reading.text_field.empty()) {
    throw UsageError("--text-field is for documents, and --retrieve reads those of a store");
  }
}

void check_answer(const AnswerCommand& command) {
  if (command.question_field.empty() && command.questions.empty()) {
    throw UsageError("weft answer needs a question", "give --question TEXT, or --question-field NAME with --file");
  }
  if (!command.question_field.empty() && !(command.texts.empty() && command.questions.empty())) {
    throw UsageError(
        "--question-field asks the questions of the records; texts and --question cannot be given beside it");
  }
  if (const std::string flag = tasks::given_reading_flag(command.reading);
      command.question_field.empty() && !flag.empty()) {
    throw UsageError(concat(flag, " is for records, and documents are read whole"), "give --question-field NAME");
  }
  if (!command.store.empty()) {
    check_retrieval(command);
  } else if (!command.retrieve_given.empty()) {
    throw UsageError(concat("--", command.retrieve_given.begin().key(), " is for passages of a store"),
                     "give --retrieve STORE");
  }
}

tasks::SearchModels open_models_of_search(store::StoreSearch& search, const AnswerCommand& command,
                                          const std::string& by) {
  tasks::SearchModels models;
  if (search.way(by) != "words") {
    search.prepare("vectors");  // says that there are no vectors before a model is opened
    const std::string model = search.store().vector_space()->model;
    const checkpoint::OpenedModel opened = checkpoint::open_model(model);
    const tasks::TaskModelOptions options =
        tasks::model_options(encoder_settings(command.flags.encoder, "weft answer", opened.root()));
    models.embedder = tasks::open_question_embedder(search.store(), opened, model, options);
  }
  return models;
}

// Questions without documents: each is asked of the store.
void ask_questions(const AnswerCommand& command, const Ask& ask, const VisitError& on_error) {
  if (!command.question_field.empty()) {
    ask_records(command, ask, on_error);
    return;
  }
  for (std::size_t i = 0; i < command.questions.size(); ++i) {
    const std::string& question = command.questions[i];
    tasks::Document asked{.first = question, .name = concat("question ", i + 1)};
    if (!command.flags.out.empty()) {
      asked.fields = {{"question", question}};
    }
    ask(question, asked);
  }
}

void run_answer_from_store(const AnswerCommand& command, const tasks::AnswerConfig& config) {
  tasks::RetrieveConfig retrieve;
  formats::update_from_json(retrieve, command.retrieve_given, "weft answer");
  store::Store store(command.store, store::Access::kRead);
  store::StoreSearch search(store);
  if (command.retrieve_given.contains("depth") && search.way(retrieve.by) != "both") {
    throw UsageError(concat("--depth is for rankings that are joined; this search is by ", search.way(retrieve.by)),
                     "--passages says how many are read");
  }
  tasks::SearchModels models = open_models_of_search(search, command, retrieve.by);
  OpenTask task = open_task(command.flags, models::Head::kQuestionAnswering, "weft answer");
  const tasks::AnswerTaskOptions options = tasks::answer_options(config, task.run);
  ResultSink sink(command.flags, {answer_line, answer_columns});
  const auto ask = [&](const std::string& question, const tasks::Document& document) {
    const auto answer = [&] {
      tasks::check_question(question, document.name);
      return tasks::answer_from_store(search, models, task.model, question, retrieve, options);
    };
    sink.take_from(answer, document);
  };
  ask_questions(command, ask, sink.errors());
  sink.finish();
}

void run_answer(const AnswerCommand& command) {
  tasks::AnswerConfig config;
  formats::update_from_json(config, command.given, "weft answer");
  check_answer(command);
  if (command.given.contains("null_threshold") && !config.handle_impossible_answer) {
    throw UsageError("--null-threshold is for --handle-impossible-answer, without which there is always an answer");
  }
  if (!command.store.empty()) {
    run_answer_from_store(command, config);
    return;
  }
  const bool records = !command.question_field.empty();
  std::vector<tasks::Document> documents = records ? std::vector<tasks::Document>{} : documents_of(command);
  OpenTask task = open_task(command.flags, models::Head::kQuestionAnswering, "weft answer");
  const tasks::AnswerTaskOptions options = tasks::answer_options(config, task.run);
  ResultSink sink(command.flags, {answer_line, answer_columns});
  const auto ask = [&](const std::string& question, const tasks::Document& document) {
    const tasks::Document asked{question, document.first, document.name};
    sink.take_from([&] { return tasks::answer(task.model, {&asked, 1}, options).front(); }, document);
  };
  if (records) {
    ask_records(command, ask, sink.errors());
  } else {
    ask_documents(command, std::move(documents), ask);
  }
  sink.finish();
}

}  // namespace

void add_answer(CLI::App& parent) {
  auto command = std::make_shared<AnswerCommand>();
  CLI::App& app = add_command(parent, "answer", kAnswerExamples);
  add_task_directory(app, command->flags);
  app.add_option("TEXT", command->texts, "documents; without any, Weft reads --file or standard input (also as -)");
  // One value each time, so that a text may follow.
  app.add_option("--question", command->questions, "a question; may be given several times")
      ->option_text("TEXT")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--file", command->files,
                 "a document, the whole file; may be given several times; - is standard input")
      ->option_text("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--question-field", command->question_field,
                 "read --file as records, and ask each the question in this column or JSON field")
      ->option_text("NAME");
  app.add_option("--text-field", command->reading.text_field,
                 "with --question-field: column or JSON field of the document (default context)")
      ->option_text("NAME");
  add_header_flag(app, command->reading);
  app.add_option("--format", command->reading.format,
                 "with --question-field: format of the file; auto goes by what stands in it, then by its name (default "
                 "auto)")
      ->check(one_of("--format", {"auto", "jsonl", "json", "csv", "tsv", "squad"}))
      ->option_text("NAME");
  app.add_option("--retrieve", command->store,
                 "a store of `weft index`: its best passages for a question are read at once, in place of a document")
      ->option_text("STORE");
  add_result_file(app, command->flags);
  add_fields<tasks::AnswerConfig>(app, {.title = "Options"}, command->given);
  add_fields<tasks::RetrieveConfig>(app, {.title = "From a store"}, command->retrieve_given);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_answer(*command); });
}

}  // namespace weft::cli
