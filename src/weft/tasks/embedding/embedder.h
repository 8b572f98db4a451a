// SPDX-License-Identifier: Apache-2.0
// Vectors for texts, as the model's directory says: a directory of sentence-transformers with its modules, prompts and
// limits, a plain encoder by the mean of its last hidden states.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/tasks/embedding/recipe.h"
#include "weft/tasks/task_model.h"
#include "weft/tasks/task_run.h"

namespace weft::tasks {

struct Embedder {
  TaskModel model;     ///< whose maximum is the directory's max_seq_length, where that is the smaller one
  EmbedRecipe recipe;  ///< with what the caller said
};

/// Opens `directory` (its root where the transformer lies in a sub-folder). `options.max_length` goes before
/// max_seq_length; `options.head` should be absent. Errors: as open_task_model(), read_sentence_directory() and
/// make_recipe(); kArgument for a cross-encoder, naming weft rerank, and a directory whose modules have no Pooling.
Embedder open_embedder(const checkpoint::OpenedModel& directory, const TaskModelOptions& options,
                       const EmbedOverrides& overrides = {});
Embedder open_embedder(const std::filesystem::path& directory, const TaskModelOptions& options,
                       const EmbedOverrides& overrides = {});

/// The same for a model that is open already for another task of the same directory: weights are shared, the limits and
/// the tokeniser are those of the directory's modules. `max_length` as in TaskModelOptions.
Embedder embedder_of(const TaskModel& model, const checkpoint::OpenedModel& directory, std::int64_t max_length = 0,
                     const EmbedOverrides& overrides = {});

/// Numbers of a vector.
std::int64_t width(const Embedder& embedder);

/// What is applied to every text: applied(recipe) and {"max_length"}, for results and for people.
formats::Json applied(const Embedder& embedder);
formats::Json applied(const TaskModel& model, const EmbedRecipe& recipe);

/// What one run, or one request, says.
struct EmbedRun {
  RunOptions run = {};
  EmbedRequest request = {};
};

/// A text's vector and the metadata of its TaskResult.
struct TextVector {
  std::vector<float> vector;
  formats::Json metadata;
};

/// For each document its vector of width() numbers (fewer where the request says so). A text beyond the model's length
/// is read in windows, which share `run.stride` tokens; with `run.truncate` it is cut, and the metadata says how much
/// was left out. What windows mean, by pooling mode: mean, mean_sqrt_len_tokens, weightedmean and max go over the
/// tokens of the whole text, each counted once, in the window where it has more around it, and weightedmean weighs it
/// by its place in the whole text; cls and lasttoken are the mean of the windows' first and last tokens. What stands
/// behind the pooling is applied once. A prompt is part of the text, so it stands in the first window. Vectors depend
/// neither on the batch nor on the order. Errors: kArgument for a maximum that leaves no room for the stride, and for a
/// text that has no token beside a prompt that does not count; kNumeric; kInterrupted.
std::vector<TextVector> embed_texts(Embedder& embedder, std::span<const Document> documents, const EmbedRun& run = {});

/// The same as results: a list of numbers each.
std::vector<TaskResult> embed(Embedder& embedder, std::span<const Document> documents, const EmbedRun& run = {});

/// The token vectors of one window of a document.
struct TokenStates {
  std::size_t document = 0;
  std::size_t window = 0;
  std::size_t windows = 0;                   ///< of the document
  const text::Encoding* encoding = nullptr;  ///< its tokens; byte_offsets count in prompt + text
  at::Tensor hidden;        ///< float32 [tokens, width], on the CPU, contiguous, without padding; a view while called
  std::int64_t begin = 0;   ///< rows [begin, end) are those that this window answers for: over all windows each token
  std::int64_t end = 0;     ///< of the document once, the special ones of the first and last window among them
  std::int64_t place = 0;   ///< place of row 0 in the whole document's tokens
  std::int64_t prompt = 0;  ///< leading rows that are the prompt with what stands before it; 0 in later windows
  std::int64_t prompt_bytes = 0;  ///< bytes of the prompt before the text in every offset
};

/// The last hidden states of every window of every document, batches by length, each handed over once in no order; what
/// late chunking and /embed_all are made of. Returns the documents' metadata, as embed() has it. Errors: as embed().
using TakeStates = std::function<void(const TokenStates& states)>;
std::vector<formats::Json> visit_token_states(Embedder& embedder, std::span<const Document> documents,
                                              const EmbedRun& run, const TakeStates& take);

/// For each document a list with the vector of each of its tokens, special ones included, as the transformer gives
/// them: no module is applied (/embed_all). Of a text in windows each token once.
std::vector<TaskResult> embed_token_states(Embedder& embedder, std::span<const Document> documents,
                                           const EmbedRun& run = {});

}  // namespace weft::tasks
