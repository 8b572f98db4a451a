// SPDX-License-Identifier: Apache-2.0
// `weft search`: the passages of a store that answer a question; or how well they do, by what people say.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/core/interrupt.h"
#include "weft/core/one_line.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/text/number_text.h"
#include "weft/store/texts/corpus_reader.h"
#include "weft/tasks/search/passage_vectors.h"
#include "weft/tasks/search/text_search.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kSearchExamples =
    "  weft search notes.weft 'how does a loom work'\n"
    "  weft search notes.weft 'how does a loom work' --by words --top-k 3 --json\n"
    "  weft search scifact.weft 'vitamin B12 and homocysteine' --rerank ms-marco-MiniLM-L6-v2\n"
    "  weft search scifact.weft --eval scifact/queries.jsonl scifact/qrels/test.tsv";

struct WordWeightConfig {
  double title_weight = 1.0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    visit(Field{"title_weight", &WordWeightConfig::title_weight, "how often a word of a title counts"}.range(0.0, 1e3));
  }
};

struct SearchCommand {
  std::string store;
  std::string question;
  std::vector<std::string> eval;
  std::string query_field;
  std::string model;
  std::string reranker;
  EncoderFlags encoder;
  Json given = Json::object();
  Json weight = Json::object();
  bool json = false;
};

// The model that made the store's vectors, where the store says that it lies.
checkpoint::OpenedModel open_model_of_store(const std::string& model) {
  try {
    return checkpoint::open_model(model);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) {
      throw;
    }
    throw Error(error.kind(), error.what(),
                concat("it made the store's vectors; where it lies elsewhere now: weft search --model DIR",
                       error.hint().empty() ? "" : "; ", error.hint()));
  }
}

tasks::SearchModels open_search_models(store::StoreSearch& search, const SearchCommand& command,
                                       const tasks::SearchConfig& config) {
  tasks::SearchModels models;
  const auto options_of = [&](const checkpoint::OpenedModel& opened) {
    return tasks::model_options(encoder_settings(command.encoder, "weft search", opened.root()));
  };
  if (search.way(config.by) != "words") {
    search.prepare("vectors");  // says that there are no vectors before a model is opened
    const bool moved = !command.model.empty();
    const std::string model = moved ? command.model : search.store().vector_space()->model;
    const checkpoint::OpenedModel opened = moved ? checkpoint::open_model(model) : open_model_of_store(model);
    models.embedder = tasks::open_question_embedder(search.store(), opened, model, options_of(opened));
  }
  if (!command.reranker.empty()) {
    const checkpoint::OpenedModel opened = checkpoint::open_model(command.reranker);
    models.reranker = tasks::open_reranker(opened, options_of(opened), {});
  }
  return models;
}

// "1  0.0323  loom.txt:1200  A loom is a machine ...".
std::string passage_line(std::size_t rank, const Json& entry) {
  constexpr std::size_t kShown = 160;
  const auto begin = entry["begin"].get<std::int64_t>();
  std::string shown = entry.contains("title") ? concat(entry["title"].get<std::string>(), ": ") : std::string();
  shown += entry["text"].get<std::string>();
  std::ranges::replace_if(shown, [](char letter) { return letter == '\n' || letter == '\r' || letter == '\t'; }, ' ');
  return concat(rank, "  ", score_text(entry["score"].get<double>()), "  ", one_line(entry["id"].get<std::string>()),
                begin > 0 ? concat(":", begin) : std::string(), "  ", one_line(shown, kShown));
}

void answer_question(store::StoreSearch& search, tasks::SearchModels& models, const SearchCommand& command,
                     const tasks::SearchConfig& config) {
  const std::vector<store::Hit> hits = tasks::search_passages(search, models, command.question, config, config.top_k);
  Json passages = tasks::passages_json(search.store(), hits);
  if (command.json) {
    print_json({{"question", command.question},
                {"by", search.way(config.by)},
                {"reranked", models.reranker.has_value()},
                {"passages", std::move(passages)}});
    return;
  }
  std::size_t rank = 0;
  for (const Json& entry : passages) {
    std::cout << passage_line(++rank, entry) << '\n';
  }
  if (passages.empty()) {
    report_progress("no passage has a word of the question");
  }
}

// Those figures that look at no more than the `ranks` which were searched for.
void print_search_figures(const metrics::RankingFigures& figures, const std::string& by, std::size_t ranks, bool json) {
  Json values = {{"by", by}, {"queries", figures.queries}, {"queries_without_relevant_text", figures.unanswered}};
  std::vector<std::pair<std::string, std::string>> rows = {
      {"found by", by}, {"queries", digits(static_cast<std::int64_t>(figures.queries))}};
  if (figures.unanswered > 0) {
    rows.emplace_back("without a relevant text",
                      concat(digits(static_cast<std::int64_t>(figures.unanswered)), ", which count 0"));
  }
  for (const metrics::RankingFigure& figure : metrics::kRankingFigures) {
    if (figure.depth > 0 && figure.depth <= ranks) {
      values[figure.name] = figures.*figure.value;
      rows.emplace_back(figure.label, fixed(figures.*figure.value, 4));
    }
  }
  if (json) {
    print_json(values);
  } else {
    std::cout << name_table(rows);
  }
}

void evaluate_search(store::StoreSearch& search, tasks::SearchModels& models, const SearchCommand& command,
                     const tasks::SearchConfig& config) {
  const store::Judgements judgements = store::read_judgements(named_by_user(command.eval[1]));
  store::CorpusReader queries({command.eval[0]}, {.text_field = command.query_field});
  store::SearchEvaluation evaluation(judgements);
  const InterruptGuard guard;
  ProgressBar bar("queries", static_cast<double>(judgements.size()));
  double done = 0;
  std::set<std::string> asked;
  for (store::CorpusText query; queries.next(query);) {
    if (!judgements.contains(query.id)) {
      continue;
    }
    if (!asked.insert(query.id).second) {
      fail(ErrorKind::kFormat, query.where, ": the query ", quote(query.id), " stands twice");
    }
    evaluation.add(query.id, tasks::ranked_texts(search.store(), tasks::search_passages(search, models, query.text,
                                                                                        config, config.depth)));
    bar.update(++done);
    if (interrupted()) {
      throw Error(ErrorKind::kInterrupted, "stopped");
    }
  }
  bar.finish();
  const std::optional<metrics::RankingFigures> figures = evaluation.figures();
  if (!figures) {
    fail(ErrorKind::kArgument, quote(command.eval[1], 4096), ": judges none of the queries of ",
         quote(command.eval[0], 4096));
  }
  const std::int64_t ranks = models.reranker ? std::min(config.depth, config.rerank_depth) : config.depth;
  print_search_figures(*figures, search.way(config.by), static_cast<std::size_t>(ranks), command.json);
}

// Flags that change nothing in a search by words or by vectors are refused.
void check_flags_of_way(const std::string& way, const SearchCommand& command) {
  const std::string by = concat("; this search is by ", way);
  if (way == "words" && !command.model.empty()) {
    throw UsageError(concat("--model is the model of the store's vectors", by), "leave it out, or give --by vectors");
  }
  const std::optional<std::string> of_model = first_model_flag(command.encoder);
  if (way == "words" && command.reranker.empty() && of_model) {
    throw UsageError(concat(flag_name(*of_model), " is for a model, and none is used", by));
  }
  if (way == "vectors" && command.weight.contains("title_weight")) {
    throw UsageError(concat("--title-weight is for words", by));
  }
  if (way != "both" && command.eval.empty() && command.given.contains("depth")) {
    throw UsageError(concat("--depth is for rankings that are joined", by), "--top-k says how many are listed");
  }
}

void run_search(const SearchCommand& command) {
  tasks::SearchConfig config;
  WordWeightConfig weight;
  formats::update_from_json(config, command.given, "weft search");
  formats::update_from_json(weight, command.weight, "weft search");
  if (command.question.empty() == command.eval.empty()) {
    throw UsageError("weft search needs a question, or --eval QUERIES QRELS",
                     "for example: weft search notes.weft 'how does a loom work'");
  }
  if (command.eval.empty() && !command.query_field.empty()) {
    throw UsageError("--query-field is for --eval: a question as an argument has no fields");
  }
  if (command.reranker.empty() && command.given.contains("rerank_depth")) {
    throw UsageError("--rerank-depth is for passages that a cross-encoder sorts", "give --rerank DIR");
  }
  store::Store store(command.store, store::Access::kRead);
  store::StoreSearch search(store, {.title_weight = weight.title_weight});
  check_flags_of_way(search.way(config.by), command);
  tasks::SearchModels models = open_search_models(search, command, config);
  if (command.eval.empty()) {
    answer_question(search, models, command, config);
  } else {
    evaluate_search(search, models, command, config);
  }
}

}  // namespace

void add_search(CLI::App& parent) {
  auto command = std::make_shared<SearchCommand>();
  CLI::App& app = add_command(parent, "search", kSearchExamples);
  app.add_option("STORE", command->store, "the file that weft index wrote")->required();
  app.add_option("QUESTION", command->question, "what the passages are to answer");
  app.add_option("--eval", command->eval,
                 "measure the search: a file of queries with ids, and one of judgements, as BEIR or TREC has them")
      ->expected(2)
      ->option_text("QUERIES QRELS");
  app.add_option("--query-field", command->query_field, "with --eval: column or JSON field of a query's text")
      ->option_text("NAME");
  add_model_argument(app, "--model", command->model,
                     "the model that made the store's vectors, where it lies elsewhere now");
  add_model_argument(app, "--rerank", command->reranker, "cross-encoder that sorts what was found once more");
  add_fields<tasks::SearchConfig>(app, {.title = "Options"}, command->given);
  add_fields<WordWeightConfig>(app, {.title = "Options"}, command->weight);
  add_encoder_flags(app, command->encoder);
  add_json_flag(app, command->json);
  app.callback([command] { run_search(*command); });
}

}  // namespace weft::cli
