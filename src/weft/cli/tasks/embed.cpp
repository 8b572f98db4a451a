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

struct EmbedConfig {
  std::string pooling = "model";
  bool normalize = false;
  std::string prompt;
  std::string prompt_name;
  std::int64_t dimensions = -1;
  std::string out;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EmbedConfig;
    visit(Field{
        "pooling", &C::pooling,
        "how the vectors of a text's tokens become one: cls, max, mean, mean_sqrt_len_tokens, weightedmean or "
        "lasttoken, or several with commas, whose vectors come one behind the other; model follows the directory, "
        "and is mean where that says nothing"});
    visit(Field{"normalize", &C::normalize,
                "scale each vector to length 1 at the end; --no-normalize leaves out the norm with which the "
                "directory's modules end"}
              .follows("the directory"));
    visit(Field{"prompt", &C::prompt, "text before each text, in place of the directory's prompt"});
    visit(Field{"prompt_name", &C::prompt_name, "name of one of the directory's prompts, put before each text"});
    visit(Field{"dimensions", &C::dimensions,
                "numbers of each vector that are kept, from the first; 0 for all, -1 follows the directory"}
              .at_least(-1));
    visit(Field{
        "out", &C::out,
        "write one array [texts, width], float32: FILE.npy or FILE.safetensors; without it and --json a line a text "
        "has its first numbers"});
  }
};

struct EmbedCommand {
  TaskFlags flags;
  TextSource source;
  std::string chunks;
  formats::Json given = formats::Json::object();
};

bool is_vector_file(const std::string& path) {
  const std::string ending = readers::small_ending(path, false);
  return ending == ".npy" || ending == ".safetensors";
}

void check_embed(const EmbedConfig& config) {
  if (!config.out.empty() && !is_vector_file(config.out)) {
    throw UsageError("--out must end in .npy or .safetensors, found " + quote(config.out));
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

std::vector<checkpoint::PoolingMode> modes_of(const std::string& names) {
  std::vector<checkpoint::PoolingMode> modes;
  if (names == "model") {
    return modes;
  }
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    try {
      modes.push_back(checkpoint::parse_pooling_mode(names.substr(begin, end - begin)));
    } catch (const Error& error) {
      throw UsageError(concat("--pooling: ", error.what()), error.hint());
    }
    begin = end + 1;
  }
  return modes;
}

// Flags that were given go over the directory.
tasks::EmbedOverrides overrides_of(const EmbedConfig& config, const formats::Json& given) {
  tasks::EmbedOverrides overrides{.pooling = modes_of(config.pooling)};
  if (given.contains("normalize")) {
    overrides.normalize = config.normalize;
  }
  if (given.contains("prompt")) {
    overrides.prompt = config.prompt;
  }
  if (given.contains("prompt_name")) {
    overrides.prompt_name = config.prompt_name;
  }
  if (config.dimensions >= 0) {
    overrides.dimensions = config.dimensions;
  }
  return overrides;
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
void write_vectors(const EmbedCommand& command, const std::string& out, tasks::Embedder& embedder,
                   const tasks::EmbedRun& run) {
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
  table.write(out);
  if (command.flags.json) {
    print_json({{"rows", table.rows()}, {"out", out}, {"embedding", tasks::applied(embedder)}});
  }
  sink.finish();
}

void run_embed(const EmbedCommand& command) {
  EmbedConfig config;
  formats::update_from_json(config, command.given, "weft embed");
  check_embed(config);
  if (!command.chunks.empty()) {
    check_chunks(command.chunks, config.out);
  }
  const TaskOptions options = task_options(command.flags, {}, "weft embed");
  tasks::Embedder embedder =
      tasks::open_embedder(command.flags.directory, options.model, overrides_of(config, command.given));
  const tasks::EmbedRun run{.run = options.run};
  if (!command.flags.json) {
    say_what_is_applied(embedder, command.given);
  }
  if (!command.chunks.empty()) {
    run_chunks(command.source, command.flags, embedder, {.embed = run}, command.chunks, config.out);
    return;
  }
  if (!config.out.empty()) {
    write_vectors(command, config.out, embedder, run);
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
  add_fields<EmbedConfig>(app, {.title = "Options"}, command->given);
  add_chunk_flag(app, command->chunks);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_embed(*command); });
}

}  // namespace weft::cli
