// SPDX-License-Identifier: Apache-2.0
// `weft rerank`: texts in the order of how well they answer a query.
#include "weft/tasks/rerank.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/joined.h"
#include "weft/core/one_line.h"
#include "weft/readers/input/columns.h"
#include "weft/tasks/embedding/sentence_limits.h"
#include "weft/tasks/parameters/reranking.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kRerankExamples =
    "  weft rerank ms-marco-MiniLM-L6-v2 'Who wove it?' 'The weaver worked near the glass.' 'Rates rose again.'\n"
    "  weft rerank ms-marco-MiniLM-L6-v2 'Who wove it?' --file passages.jsonl --text-field passage --top-k 10 --json\n"
    "  weft rerank ms-marco-MiniLM-L6-v2 'Who wove it?' --file reports.txt --windows --out ranked.csv\n"
    "  weft rerank ms-marco-MiniLM-L6-v2 --queries queries.jsonl --json     (lines {\"query\": TEXT, \"texts\": "
    "[TEXT]})";

struct RerankCommand {
  TaskFlags flags;
  std::string query;
  TextSource source;
  std::string queries;
  Json given = Json::object();
};

// "0.9812  3  The weaver worked near the glass.": score, place among the texts, text.
std::string rerank_line(const Json& entry) {
  return concat(score_text(entry["score"].get<double>()), "  ", entry["index"].get<std::int64_t>(), "  ",
                one_line(entry["text"].get<std::string>(), std::numeric_limits<std::size_t>::max()));
}

// "3 0.9812 | 0 0.0012": of one query among several.
std::string ranking_line(const Json& result) {
  return joined(result, " | ", [](const Json& entry) {
    return concat(entry["index"].get<std::int64_t>(), " ", score_text(entry["score"].get<double>()));
  });
}

Json rerank_columns(const Json& entry) {
  return {{"predicted_rank", entry["rank"]}, {"predicted_score", entry["score"]}};
}

struct TextError {
  std::size_t index = 0;
  std::string message;
};

// The texts of one query with their scores, in the order in which they were read.
struct ScoredTexts {
  std::vector<tasks::Document> texts;
  std::vector<tasks::TaskResult> scores;  // null where a text has none
  std::vector<TextError> errors;

  void take(const tasks::TaskResult& score, const tasks::Document& text) {
    scores.push_back(score);
    texts.push_back(text);
  }
  void take_error(const std::string& message, const tasks::Document& text) {
    errors.push_back({texts.size(), message});
    take({}, text);
  }
};

std::vector<tasks::Document> rerank_pairs(const std::string& query, std::span<const tasks::Document> texts) {
  std::vector<tasks::Document> pairs;
  pairs.reserve(texts.size());
  for (const tasks::Document& text : texts) {
    pairs.push_back({query, text.first, text.name});
  }
  return pairs;
}

// One object for the whole ranking: a result's place is its order.
void print_ranking(const ScoredTexts& scored, const tasks::RerankOptions& options) {
  tasks::TaskResult ranked = tasks::ranking(scored.scores, scored.texts, options);
  for (Json& entry : ranked.result) {
    if (Json fields = tasks::fields_beside_texts(scored.texts[entry["index"].get<std::size_t>()]); !fields.is_null()) {
      entry["fields"] = std::move(fields);
    }
  }
  Json line = {{"result", std::move(ranked.result)}, {"metadata", std::move(ranked.metadata)}};
  for (const TextError& error : scored.errors) {
    line["errors"].push_back({{"index", error.index}, {"error", error.message}});
  }
  print_json(line);
}

// A line or a row each text, best first, those with errors behind.
void list_ranking(const ScoredTexts& scored, tasks::RerankOptions options, const TaskFlags& flags, ResultSink& sink) {
  options.return_text = true;
  const tasks::TaskResult ranked = tasks::ranking(scored.scores, scored.texts, options);
  std::int64_t rank = 0;
  for (Json entry : ranked.result) {
    const auto index = entry["index"].get<std::size_t>();
    entry["rank"] = ++rank;
    sink.take({std::move(entry), scored.scores[index].metadata}, scored.texts[index]);
  }
  for (const TextError& error : scored.errors) {
    if (flags.out.empty()) {
      sink.note_error(error.message);
    } else {
      sink.take_error(error.message, scored.texts[error.index]);
    }
  }
}

void rerank_one(const RerankCommand& command, OpenTask& task, const tasks::RerankOptions& options) {
  ResultSink sink(command.flags, {rerank_line, rerank_columns});
  const auto score = [&](std::span<const tasks::Document> texts) {
    return tasks::score_pairs(task.model, rerank_pairs(command.query, texts), options);
  };
  ScoredTexts scored;
  VisitError on_error;
  if (sink.skips()) {
    on_error = [&](const std::string& message, const tasks::Document& text) { scored.take_error(message, text); };
  }
  visit_results(
      command.source, task.run, score,
      [&](const tasks::TaskResult& result, const tasks::Document& text) { scored.take(result, text); },
      writes_fields(command.flags), on_error);
  if (!command.flags.json || !command.flags.out.empty()) {
    list_ranking(scored, options, command.flags, sink);
    sink.finish();
    return;
  }
  print_ranking(scored, options);
  for (std::size_t i = 0; i < scored.texts.size() - scored.errors.size(); ++i) {
    sink.count_result();
  }
  for (const TextError& error : scored.errors) {
    sink.note_error(error.message);
  }
  sink.finish();
}

constexpr std::array<std::string_view, 1> kQuery = {"query"};

// Where the texts of a record stand, in the words of text-embeddings-inference or of Cohere.
std::string field_of_texts(const Json& record) {
  const std::string documents = readers::known_field(record, "documents");
  return record.contains(documents) ? documents : readers::known_field(record, "texts");
}

std::vector<tasks::Document> texts_of_query(const tasks::Document& record) {
  const Json& json = record.fields;
  const std::string query = readers::known_field(json, kQuery.front());
  const std::string member = field_of_texts(json);
  const bool fits = json.is_object() && json.contains(query) && json[query].is_string() && json.contains(member) &&
                    json[member].is_array() && !json[member].empty() &&
                    std::ranges::all_of(json[member], [](const Json& text) { return text.is_string(); });
  if (!fits) {
    fail(ErrorKind::kFormat, record.name,
         ": expected {\"query\": TEXT, \"texts\": [TEXT, ...]}, with at least one text");
  }
  std::vector<tasks::Document> texts;
  for (const Json& text : json[member]) {
    texts.push_back({text.get<std::string>(), {}, concat(record.name, ", text ", texts.size() + 1)});
  }
  return texts;
}

void rerank_queries(const RerankCommand& command, OpenTask& task, const tasks::RerankOptions& options) {
  TextSource source;
  source.file = command.queries;
  source.reading.format = "objects";
  source.reading.usual_texts = kQuery;
  const auto each = [&](std::span<const tasks::Document> records) {
    std::vector<tasks::TaskResult> results;
    for (const tasks::Document& record : records) {
      const std::vector<tasks::Document> texts = texts_of_query(record);
      results.push_back(tasks::rerank(task.model, record.first, texts, options));
    }
    return results;
  };
  ResultSink sink(command.flags, {ranking_line});
  const auto show = [&](const tasks::TaskResult& result, const tasks::Document& record) {
    tasks::Document shown = record;
    shown.names_of_texts.push_back(readers::known_field(record.fields, "texts"));
    shown.names_of_texts.push_back(readers::known_field(record.fields, "documents"));
    sink.take(result, shown);
  };
  visit_results(source, task.run, each, show, true, sink.errors());
  sink.finish();
}

void check_rerank_command(const RerankCommand& command, const tasks::RerankConfig& config) {
  if (command.queries.empty() && command.query.empty()) {
    throw UsageError("weft rerank needs a query",
                     "for example: weft rerank DIR 'Who wove it?' --file passages.txt; or --queries FILE");
  }
  if (!command.queries.empty() &&
      !(command.query.empty() && command.source.file.empty() && command.flags.out.empty())) {
    throw UsageError(
        "--queries FILE has the queries and their texts; QUERY, TEXT, --file and --out cannot be given with it");
  }
  if (!config.windows && command.flags.run.contains("stride")) {
    throw UsageError("--stride is of the windows that --windows reads a long text in");
  }
  if (config.windows && command.flags.run.value("truncate", Json(false)) == true) {
    throw UsageError("--windows and --truncate cannot both be given: one reads a long text whole, the other cuts it");
  }
}

void run_rerank(const RerankCommand& command) {
  tasks::RerankConfig config;
  formats::update_from_json(config, command.given, "weft rerank");
  check_rerank_command(command, config);
  const checkpoint::OpenedModel opened = checkpoint::open_model(command.flags.directory);
  tasks::require_cross_encoder(opened);
  const checkpoint::CrossEncoderSettings settings = checkpoint::read_cross_encoder(opened);
  OpenTask task = open_task(command.flags, opened, models::Head::kSequenceClassification, "weft rerank");
  if (const auto sentence = checkpoint::read_sentence_directory(opened.root())) {
    tasks::take_sentence_limits(task.model, *sentence, command.flags.run.value("max_length", std::int64_t{0}));
  }
  const tasks::RerankOptions options = tasks::rerank_options(config, settings, task.run);
  tasks::check_rerank(task.model, options);
  if (command.queries.empty()) {
    rerank_one(command, task, options);
  } else {
    rerank_queries(command, task, options);
  }
}

}  // namespace

void add_rerank(CLI::App& parent) {
  auto command = std::make_shared<RerankCommand>();
  CLI::App& app = add_command(parent, "rerank", kRerankExamples);
  add_task_directory(app, command->flags);
  app.add_option("QUERY", command->query, "what the texts are to answer");
  add_text_arguments(app, command->source, false);
  app.add_option("--queries", command->queries,
                 "file of several queries, each with its texts, as JSON lines or an array; - is standard input")
      ->option_text("FILE");
  add_result_file(app, command->flags);
  add_fields<tasks::RerankConfig>(app, {.title = "Options"}, command->given);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_rerank(*command); });
}

}  // namespace weft::cli
