// SPDX-License-Identifier: Apache-2.0
// `weft embed`: a vector for each text, as a line that sums it up, as JSON lines or as one array in a file.
#include "weft/tasks/embed.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/failure.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/quote.h"
#include "weft/formats/npy.h"
#include "weft/formats/safetensors.h"
#include "weft/readers/input/file_kind.h"

namespace weft::cli {
namespace {

constexpr const char* kEmbedExamples =
    "  weft embed bigbird-roberta-base 'The loom weaves.'\n"
    "  weft embed bigbird-roberta-base 'The loom weaves.' --json\n"
    "  weft embed bert-base-uncased --file titles.txt --pooling cls --normalize --out titles.npy\n"
    "  weft embed longformer-base-4096 --file reports.txt --truncate --out reports.safetensors";

struct EmbedConfig {
  std::string pooling = "mean";
  bool normalize = false;
  std::string out;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = EmbedConfig;
    visit(Field{"pooling", &C::pooling, "mean of the vectors of all tokens, or the vector of the first token (cls)"}
              .one_of({"mean", "cls"}));
    visit(Field{"normalize", &C::normalize, "scale each vector to length 1"});
    visit(Field{
        "out", &C::out,
        "write one array [texts, width], float32: FILE.npy or FILE.safetensors; without it and --json a line a text "
        "has its first numbers"});
  }
};

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

struct EmbedCommand {
  TaskFlags flags;
  TextSource source;
  formats::Json given = formats::Json::object();
};

// The vectors of all texts, row by row, for a file; NaN in the rows of texts that have none.
struct VectorTable {
  std::vector<float> values;
  std::int64_t rows = 0;
  std::int64_t without = 0;  // of the rows, before the first that says the width
  formats::Metadata metadata;

  void add(const tasks::TaskResult& result) {
    values.insert(values.end(), static_cast<std::size_t>(without) * result.result.size(), kNone);
    without = 0;
    for (const formats::Json& value : result.result) {
      values.push_back(value.get<float>());
    }
    ++rows;
  }
  void add_none() {
    if (values.empty()) {
      ++without;
    } else {
      values.insert(values.end(), values.size() / static_cast<std::size_t>(rows), kNone);
    }
    ++rows;
  }
  void write(const std::string& path) const {
    const std::vector<std::int64_t> shape{rows, rows == 0 ? 0 : static_cast<std::int64_t>(values.size()) / rows};
    if (readers::small_ending(path, false) == ".npy") {
      formats::write_npy(path, formats::Dtype::F32, shape, std::as_bytes(std::span(values)));
      return;
    }
    const formats::TensorSource tensor{"embeddings", formats::Dtype::F32, shape, values.data()};
    formats::write_safetensors(path, {&tensor, 1}, metadata);
  }
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

void run_embed(const EmbedCommand& command) {
  EmbedConfig config;
  formats::update_from_json(config, command.given, "weft embed");
  check_embed(config);
  OpenTask task = open_task(command.flags, {}, "weft embed");
  const tasks::EmbedOptions options{
      .pooling = tasks::parse_pooling(config.pooling), .normalize = config.normalize, .run = task.run};
  const auto embed = [&](std::span<const tasks::Document> documents) {
    return tasks::embed(task.model, documents, options);
  };
  if (config.out.empty()) {
    run_on_texts(command.source, command.flags, task.run, embed, {vector_line});
    return;
  }
  VectorTable table;
  table.metadata = {{"pooling", config.pooling}, {"normalize", config.normalize ? "true" : "false"}};
  ResultSink sink(command.flags, {[](const formats::Json&) { return std::string(); }});
  const auto add = [&](const tasks::TaskResult& result, const tasks::Document& document) {
    table.add(result);
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
  visit_results(command.source, task.run, embed, add, false, on_error);
  table.write(config.out);
  if (command.flags.json) {
    print_json({{"rows", table.rows}, {"out", config.out}});
  }
  sink.finish();
}

}  // namespace

void add_embed(CLI::App& parent) {
  auto command = std::make_shared<EmbedCommand>();
  CLI::App& app = add_command(parent, "embed", kEmbedExamples);
  add_task_directory(app, command->flags);
  add_text_arguments(app, command->source, false);
  add_fields<EmbedConfig>(app, {.title = "Options"}, command->given);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_embed(*command); });
}

}  // namespace weft::cli
