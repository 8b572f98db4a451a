// SPDX-License-Identifier: Apache-2.0
// A file holds all chunks of all texts, row by row, and beside them which text each is of and where it stands there.
#include "weft/cli/tasks/embedding/chunk_command.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/cli/front/failure.h"
#include "weft/cli/front/output.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/formats/safetensors.h"
#include "weft/readers/input/file_kind.h"
#include "weft/tasks/embedding/vector_files.h"

namespace weft::cli {
namespace {

using formats::Json;

// "0-26  5 tokens: 0.1234 -0.0456 ... ": where the chunk stands, and that it has a vector.
std::string chunk_line(const Json& chunk) {
  constexpr std::size_t kShown = 6;
  const Json& vector = chunk["embedding"];
  std::string first;
  for (std::size_t i = 0; i < std::min(vector.size(), kShown); ++i) {
    first += " " + fixed(vector[i].get<double>(), 4);
  }
  return concat(chunk["start"].get<std::int64_t>(), "-", chunk["end"].get<std::int64_t>(), "  ",
                counted(chunk["tokens"].get<std::int64_t>(), "token"), ", ", counted(std::ssize(vector), "number"), ":",
                first, vector.size() > kShown ? " ..." : "");
}

std::string chunk_lines(const Json& chunks) { return joined(chunks, "\n", chunk_line); }

}  // namespace

void add_chunk_flag(CLI::App& app, std::string& rule) {
  app.add_option(
         "--chunks", rule,
         "late chunking: read each text once, and give a vector for each of its sentences, or for each N of its "
         "tokens, with its place; --stride is the overlap of windows; --out FILE.safetensors has the places too")
      ->option_text("sentences|N");
}

void check_chunks(const std::string& rule, const std::string& out) {
  try {
    tasks::parse_chunk_rule(rule);
  } catch (const Error& error) {
    throw UsageError(concat("--chunks: ", error.what()));
  }
  if (!out.empty() && readers::small_ending(out, false) != ".safetensors") {
    throw UsageError("--out must end in .safetensors with --chunks, which has places beside vectors, found " +
                     quote(out, 4096));
  }
}

void run_chunks(const TextSource& source, const TaskFlags& flags, tasks::Embedder& embedder, tasks::ChunkRun run,
                const std::string& rule, const std::string& out) {
  check_chunks(rule, out);
  run.rule = tasks::parse_chunk_rule(rule);
  const auto embed = [&](std::span<const tasks::Document> documents) {
    return tasks::embed_chunks(embedder, documents, run);
  };
  if (out.empty()) {
    run_on_texts(source, flags, run.embed.run, embed, {chunk_lines});
    return;
  }
  tasks::ChunkTable table;
  ResultSink sink(flags, {[](const Json&) { return std::string(); }});
  const auto add = [&](const tasks::TaskResult& result, const tasks::Document& document) {
    table.add(result.result);
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
  visit_results(source, run.embed.run, embed, add, false, on_error);
  table.write(out, {{"chunks", rule}, {"embedder", tasks::applied(embedder).dump()}});
  if (flags.json) {
    print_json({{"rows", table.rows()}, {"out", out}});
  }
  sink.finish();
}

}  // namespace weft::cli
