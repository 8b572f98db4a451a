// SPDX-License-Identifier: Apache-2.0
// The vectors of a store: which model makes them, for passages and for questions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/store/store.h"
#include "weft/tasks/embedding/embedder.h"

namespace weft::tasks {

/// An embedder, and how it reads: questions as the passages.
struct PassageEmbedder {
  Embedder embedder;
  EmbedRun run = {};
  store::Reading reading = {};
};

/// Opens `directory`, which `reading` goes before. Errors: as open_embedder().
PassageEmbedder open_passage_embedder(const checkpoint::OpenedModel& directory, TaskModelOptions options,
                                      const store::Reading& reading, const BatchLimits& batch);

/// The embedder of the vectors of `store`, which has some, for questions; `model` is what the user called `directory`.
/// Errors: as open_passage_embedder() and check_same_model().
PassageEmbedder open_question_embedder(store::Store& store, const checkpoint::OpenedModel& directory,
                                       const std::string& model, const TaskModelOptions& options,
                                       const BatchLimits& batch = {});

/// What the vectors of `embedder` are; `model` is what the user called `directory`. Two directories are the same model
/// where their files of weights, settings and vocabularies have the same bytes. Errors: kUnsupported for a similarity
/// other than cosine and dot; as digest_of_file().
store::VectorSpace vector_space_of(const PassageEmbedder& embedder, const checkpoint::OpenedModel& directory,
                                   const std::string& model);

/// Throws kArgument unless the vectors of `store`, if it has any, are those of `space`.
void check_same_model(store::Store& store, const store::VectorSpace& space);

/// Computes vectors for the passages of `store` that have none, and writes them some at a time: what was written is
/// safe. The prompt of passages is that which the directory calls document, passage or corpus, if it has one. `done` is
/// told how many there are so far; where it returns false the work ends. Returns how many were computed. Errors: as
/// embed_texts() and store::write_vectors().
std::int64_t add_passage_vectors(store::Store& store, PassageEmbedder& embedder,
                                 const std::function<bool(std::int64_t)>& done);

/// The vector of a question, with the prompt that the directory calls query, if it has one. Errors: as embed_texts().
std::vector<float> question_vector(PassageEmbedder& embedder, const std::string& question);

}  // namespace weft::tasks
