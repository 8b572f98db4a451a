// SPDX-License-Identifier: Apache-2.0
// `weft embed --chunks`: the vectors of a text's chunks, as lines, as JSON lines or as one array with their places.
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "weft/cli/tasks/task_command.h"
#include "weft/tasks/embedding/chunks.h"

namespace weft::cli {

/// Adds --chunks; `rule` stays empty without it.
void add_chunk_flag(CLI::App& app, std::string& rule);

/// The chunks of all documents of `source`: to `out`, FILE.safetensors, where that is not empty, else through a
/// ResultSink. `run.embed` says how the embedder runs. Errors: UsageError for another ending and for a rule that is
/// none; those of embed_chunks().
void run_chunks(const TextSource& source, const TaskFlags& flags, tasks::Embedder& embedder, tasks::ChunkRun run,
                const std::string& rule, const std::string& out);

/// What of that can be said before a model is opened.
void check_chunks(const std::string& rule, const std::string& out);

}  // namespace weft::cli
