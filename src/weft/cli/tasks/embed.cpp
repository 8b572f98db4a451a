// SPDX-License-Identifier: Apache-2.0
// `weft embed`: a vector for each text, as a line that sums it up, as JSON lines or as one array in a file.
#include "weft/tasks/embedding/embedder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/embedding/chunk_command.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/formats/safetensors.h"
#include "weft/readers/input/file_kind.h"
#include "weft/tasks/embedding/vector_files.h"
#include "weft/tasks/parameters/embedding.h"

namespace weft::cli {
namespace {

constexpr const char* kEmbedExamples =
    "  weft embed bigbird-roberta-base 'The loom weaves.'\n"
    "  weft embed bigbird-roberta-base 'The loom weaves.' --json\n"
    "  weft embed all-MiniLM-L6-v2 --file titles.txt --out titles.npy\n"
    "  weft embed e5-base-v2 'who weaves?' --prompt 'query: ' --dimensions 256 --normalize --json\n"
    "  weft embed bert-base-uncased --file titles.txt --pooling cls,mean --normalize --out titles.npy\n"
    "  weft embed longformer-base-4096 --file reports.txt --truncate --out reports.safetensors\n"
    "  weft embed longformer-base-4096 --file reports.jsonl --chunks sentences --json";

struct EmbedCommand {
  TaskFlags flags;
  TextSource source;
  std::string chunks;
  std::string out;  // file of vectors; empty: stdout
  formats::Json given = formats::Json::object();
};

bool is_vector_file(const std::string& path) {
  const std::string ending = readers::small_ending(path, false);
  return ending == ".npy" || ending == ".safetensors";
}

void check_embed(const EmbedCommand& command) {
  if (!command.out.empty() && !is_vector_file(command.out)) {
    throw UsageError("--out must end in .npy or .safetensors, found " + quote(command.out));
  }
}

// "768 numbers of length 14.2071: 0.1234 -0.0456 ...": enough to see that there is a vector, and whether two differ.
std::string vector_line(const formats::Json& vector) {
  constexpr std::size_t kShown = 6;
  double squares = 0.0;
  std::string first;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const auto number = vector[i].get<double>();
    squares += number * number;
    first += i < kShown ? concat(" ", fixed(number, 4)) : std::string();
  }
  return concat(counted(std::ssize(vector), "number"), " of length ", fixed(std::sqrt(squares), 4), ":", first,
                vector.size() > kShown ? " ..." : "");
}

// A plain encoder of which nobody asked anything has nothing to say.
void say_what_is_applied(const tasks::Embedder& embedder, const formats::Json& given) {
  const tasks::EmbedRecipe& recipe = embedder.recipe;
  if (recipe.of_directory || given.contains("prompt")) {
    const std::string modules = recipe.modules.empty() ? "" : ", " + checkpoint::modules_text(recipe.modules);
    const std::string prompt = recipe.prompt.empty() ? "" : ", the prompt " + quote(recipe.prompt);
    write_line(concat(pooling_text(recipe.pooling.modes), " pooling", modules, prompt, ": ",
                      counted(width(embedder), "number"), tasks::is_normalized(recipe) ? " of length 1" : "",
                      " a text; at most ", embedder.model.maximum, " tokens at once\n"));
  }
}

formats::Metadata file_metadata(const tasks::Embedder& embedder) {
  formats::Metadata metadata;
  const formats::Json applied = tasks::applied(embedder);
  for (const auto& [name, value] : applied.items()) {
    metadata[name] = value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true);
  }
  metadata["normalize"] = tasks::is_normalized(embedder.recipe) ? "true" : "false";
  metadata["similarity"] = embedder.recipe.similarity;
  return metadata;
}

// All vectors into one file. They take no way round by JSON: the result of a text is its place among those that were
// computed together.
void write_vectors(const EmbedCommand& command, tasks::Embedder& embedder, const tasks::EmbedRun& run) {
  tasks::VectorTable table(file_metadata(embedder));
  std::vector<tasks::TextVector> latest;
  const auto embed = [&](std::span<const tasks::Document> documents) {
    latest = tasks::embed_texts(embedder, documents, run);
    std::vector<tasks::TaskResult> places;
    places.reserve(latest.size());
    for (std::size_t i = 0; i < latest.size(); ++i) {
      places.push_back({i, std::move(latest[i].metadata)});
    }
    return places;
  };
  ResultSink sink(command.flags, {[](const formats::Json&) { return std::string(); }});
  const auto add = [&](const tasks::TaskResult& result, const tasks::Document& document) {
    table.add(latest[result.result.get<std::size_t>()].vector);
    sink.count_result();
    say_what_was_done(result.metadata, document.name);
  };
  VisitError on_error;
  if (sink.skips()) {
    on_error = [&](const std::string& message, const tasks::Document& /*document*/) {
      table.add_none();
      sink.note_error(message);
    };
  }
  visit_results(command.source, run.run, embed, add, false, on_error);
  table.write(command.out);
  if (command.flags.json) {
    print_json({{"rows", table.rows()}, {"out", command.out}, {"embedding", tasks::applied(embedder)}});
  }
  sink.finish();
}

void run_embed(const EmbedCommand& command) {
  tasks::EmbedConfig config;
  formats::update_from_json(config, command.given, "weft embed");
  check_embed(command);
  if (!command.chunks.empty()) {
    check_chunks(command.chunks, command.out);
  }
  const TaskOptions options = task_options(command.flags, {}, "weft embed");
  tasks::Embedder embedder =
      tasks::open_embedder(command.flags.directory, options.model, tasks::embed_overrides(config, command.given));
  const tasks::EmbedRun run{.run = options.run};
  if (!command.flags.json) {
    say_what_is_applied(embedder, command.given);
  }
  if (!command.chunks.empty()) {
    run_chunks(command.source, command.flags, embedder, {.embed = run}, command.chunks, command.out);
    return;
  }
  if (!command.out.empty()) {
    write_vectors(command, embedder, run);
    return;
  }
  const auto embed = [&](std::span<const tasks::Document> documents) { return tasks::embed(embedder, documents, run); };
  run_on_texts(command.source, command.flags, run.run, embed, {vector_line});
}

}  // namespace

void add_embed(CLI::App& parent) {
  auto command = std::make_shared<EmbedCommand>();
  CLI::App& app = add_command(parent, "embed", kEmbedExamples);
  add_task_directory(app, command->flags);
  add_text_arguments(app, command->source, false);
  add_fields<tasks::EmbedConfig>(app, {.title = "Options"}, command->given);
  app.add_option(
         "--out", command->out,
         "write one array [texts, width], float32: FILE.npy or FILE.safetensors; without it and --json a line a "
         "text has its first numbers")
      ->option_text("FILE");
  add_chunk_flag(app, command->chunks);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_embed(*command); });
}

}  // namespace weft::cli
