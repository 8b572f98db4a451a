// SPDX-License-Identifier: Apache-2.0
// A vector for each text, for each of its tokens, or for each of its chunks.
#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "task_call.h"
#include "weft/formats/json_members.h"
#include "weft/tasks/embedding/chunks.h"
#include "weft/tasks/parameters/embedding.h"

namespace weft::python {
namespace {

struct AskedVectors {
  tasks::Embedder& embedder;
  tasks::EmbedRun run;
};

AskedVectors read_vectors(Opened& model, const TaskCall& call) {
  tasks::EmbedConfig config;
  const tasks::RunOptions run = read_run(call, Windows::kHas, config);
  const formats::Json given = formats::only_fields_of<tasks::EmbedConfig>(call.given);
  return {model.embedder(tasks::embed_overrides(config, given), given.dump()), {.run = run}};
}

// Rows of a window that outlive the call: without a copy where they are all that their memory holds.
at::Tensor kept_rows(const tasks::TokenStates& window) {
  at::Tensor rows = window.hidden.slice(0, window.begin, window.end);
  return rows.nbytes() == rows.storage().nbytes() ? rows : rows.clone();
}

}  // namespace

Vectors embed(Opened& model, const TaskCall& call) {
  const AskedVectors asked = read_vectors(model, call);
  Vectors vectors;
  const auto texts = std::ssize(call.documents);
  at::Tensor rows = at::empty({texts, tasks::width(asked.embedder)}, at::kFloat);
  auto* out = rows.mutable_data_ptr<float>();
  vectors.metadata.reserve(call.documents.size());
  for (tasks::TextVector& text : tasks::embed_texts(asked.embedder, call.documents, asked.run)) {
    out = std::ranges::copy(text.vector, out).out;
    vectors.metadata.push_back(std::move(text.metadata));
  }
  vectors.rows = {std::move(rows)};
  return vectors;
}

// Windows come in no order.
Vectors encode(Opened& model, const TaskCall& call) {
  const tasks::RunOptions run = read_run(call, Windows::kHas);
  tasks::Embedder states{.model = model.encoder({}), .recipe = {}};
  std::vector<std::vector<at::Tensor>> windows(call.documents.size());
  Vectors vectors;
  vectors.metadata =
      tasks::visit_token_states(states, call.documents, {.run = run}, [&](const tasks::TokenStates& one) {
        windows[one.document].resize(one.windows);
        windows[one.document][one.window] = kept_rows(one);
      });
  vectors.rows.reserve(windows.size());
  for (const std::vector<at::Tensor>& text : windows) {
    vectors.rows.push_back(text.size() == 1 ? text.front() : at::cat(text));
  }
  return vectors;
}

Results chunk(Opened& model, const TaskCall& call) {
  TaskCall embeds = call;
  const auto rule = formats::value_of<std::string>(call.given, "chunks", call.task);
  embeds.given.erase("chunks");
  const AskedVectors asked = read_vectors(model, embeds);
  return tasks::embed_chunks(asked.embedder, call.documents,
                             {.rule = tasks::parse_chunk_rule(rule), .embed = asked.run});
}

}  // namespace weft::python
