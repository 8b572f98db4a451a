// SPDX-License-Identifier: Apache-2.0
// Passages are computed in the order in which they came into the store, so that a run that was stopped goes on.
#include "weft/tasks/search/passage_vectors.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "weft/core/disk/digest.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/store/vectors/vector_index.h"

namespace weft::tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kPassagePrompts = {"document", "passage", "corpus"};
constexpr std::array<std::string_view, 1> kQuestionPrompts = {"query"};
// Endings of what a model is made of: weights, settings, vocabularies.
constexpr std::array<std::string_view, 5> kModelEndings = {".safetensors", ".bin", ".json", ".txt", ".model"};

std::string model_files_digest(const fs::path& directory) {
  std::set<fs::path> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string ending = entry.path().extension().string();
    if (entry.is_regular_file() && std::ranges::find(kModelEndings, ending) != kModelEndings.end()) {
      names.insert(entry.path().filename());
    }
  }
  std::string all;
  for (const fs::path& name : names) {
    all += concat(name.native(), '\n', digest_of_file(ModelFile(directory, name)), '\n');
  }
  return digest_of(all);
}

// The run with the first prompt that the directory has.
template <std::size_t kCount>
EmbedRun with_prompt_of(const PassageEmbedder& embedder, const std::array<std::string_view, kCount>& names) {
  EmbedRun run = embedder.run;
  for (const std::string_view name : names) {
    if (embedder.embedder.recipe.prompts.contains(std::string(name))) {
      run.request.prompt_name = std::string(name);
      return run;
    }
  }
  return run;
}

}  // namespace

PassageEmbedder open_passage_embedder(const checkpoint::OpenedModel& directory, TaskModelOptions options,
                                      const store::Reading& reading, const BatchLimits& batch) {
  options.max_length = reading.max_length;
  return {.embedder = open_embedder(directory, options),
          .run = {.run = {.truncate = reading.truncate, .batch = batch}},
          .reading = reading};
}

PassageEmbedder open_question_embedder(store::Store& store, const checkpoint::OpenedModel& directory,
                                       const std::string& model, const TaskModelOptions& options,
                                       const BatchLimits& batch) {
  PassageEmbedder found = open_passage_embedder(directory, options, store.vector_space().value().reading, batch);
  check_same_model(store, vector_space_of(found, directory, model));
  return found;
}

store::VectorSpace vector_space_of(const PassageEmbedder& embedder, const checkpoint::OpenedModel& directory,
                                   const std::string& model) {
  const EmbedRecipe& recipe = embedder.embedder.recipe;
  const std::string& similarity = recipe.similarity;
  if (similarity != "cosine" && similarity != "dot") {
    throw Error(ErrorKind::kUnsupported, concat(quote(model, 4096), ": vectors of this model compare by ",
                                                quote(similarity), ", and a store compares by cosine or dot"));
  }
  return {.model = model,
          .digest = digest_of(concat(model_files_digest(directory.path()), applied(recipe).dump())),
          .width = width(embedder.embedder),
          .similarity = similarity,
          .reading = embedder.reading};
}

void check_same_model(store::Store& store, const store::VectorSpace& space) {
  const std::optional<store::VectorSpace> before = store.vector_space();
  if (before && !before->is_that_of(space)) {
    throw Error(ErrorKind::kArgument,
                concat(store.name(), ": the vectors are those of ", quote(before->model, 4096), " (", before->width,
                       " numbers, ", before->similarity, "), and ", quote(space.model, 4096),
                       " is another model, or its files have changed"),
                concat("name that model, or let weft index ", option("rebuild"), " compute all vectors anew"));
  }
}

std::int64_t add_passage_vectors(store::Store& store, PassageEmbedder& embedder,
                                 const std::function<bool(std::int64_t)>& done) {
  constexpr std::int64_t kAtOnce = 256;
  const store::VectorSpace space = store.vector_space().value();
  const EmbedRun passage_run = with_prompt_of(embedder, kPassagePrompts);
  std::int64_t computed = 0;
  std::int64_t last = 0;
  while (true) {
    const std::vector<store::Passage> passages = store.without_vector(last, kAtOnce);
    if (passages.empty()) {
      return computed;
    }
    last = passages.back().number;
    std::vector<Document> documents;
    documents.reserve(passages.size());
    for (const store::Passage& passage : passages) {
      documents.push_back({.first = store::readable(passage), .name = concat("the text ", quote(passage.id))});
    }
    std::vector<TextVector> vectors = embed_texts(embedder.embedder, documents, passage_run);
    std::vector<store::PassageVector> rows;
    rows.reserve(passages.size());
    for (std::size_t i = 0; i < passages.size(); ++i) {
      rows.push_back({passages[i].number, std::move(vectors[i].vector)});
    }
    store::write_vectors(store, space, rows);
    computed += std::ssize(rows);
    if (!done(computed)) {
      return computed;
    }
  }
}

std::vector<float> question_vector(PassageEmbedder& embedder, const std::string& question) {
  const Document document{.first = question, .name = "the question"};
  return std::move(
      embed_texts(embedder.embedder, {&document, 1}, with_prompt_of(embedder, kQuestionPrompts)).front().vector);
}

}  // namespace weft::tasks
