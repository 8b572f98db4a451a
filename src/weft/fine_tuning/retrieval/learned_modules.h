// SPDX-License-Identifier: Apache-2.0
// What stands behind a transformer that learns to embed: the modules and prompts of its directory of
// sentence-transformers, whose weights learn too, or mean pooling and a norm where the directory is a plain encoder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/fine_tuning/retrieval/config.h"
#include "weft/models/encoder_model.h"
#include "weft/tasks/embedding/recipe.h"

namespace weft::fine_tuning {

class LearnedModules {
 public:
  /// `width` is that of the transformer's token vectors. Errors: those of read_sentence_directory() and make_recipe();
  /// kArgument for a cross-encoder and for matryoshka_dims beyond the width; kUnsupported for a pooling that leaves out
  /// the tokens of a prompt, where there is a prompt.
  LearnedModules(const std::filesystem::path& directory, std::int64_t width, const RetrievalConfig& config);

  /// A vector for each row, [rows, width], with its graph: in training mode before it is cut to the directory's
  /// truncate_dim, in evaluation mode what `weft embed` gives. Dropout is that of input.seed.
  at::Tensor vectors(models::EncoderModelImpl& model, const models::EncoderInput& input) const;
  /// Numbers of a vector in evaluation mode.
  std::int64_t width() const { return tasks::width(recipe_); }

  const std::string& query_prompt() const noexcept { return query_prompt_; }
  const std::string& document_prompt() const noexcept { return document_prompt_; }
  /// "mean pooling, Normalize", and whether the directory says so.
  std::string text() const;

  /// The weights of the modules, "1.dense.weight" and so on by the module's place.
  std::vector<std::pair<std::string, at::Tensor>> parameters() const;
  void move_to(c10::Device device);
  /// Writes modules.json and its kin into a directory that has the transformer, whose texts have at most `max_length`
  /// tokens; load() takes the weights from there.
  void save(const std::filesystem::path& directory, std::int64_t max_length) const;
  void load(const std::filesystem::path& directory);

 private:
  checkpoint::SentenceDirectory sentence_;  // whose modules' weights are those of the beginning
  tasks::EmbedRecipe recipe_;
  tasks::EmbedRecipe whole_;  // without the cut
  std::string query_prompt_;
  std::string document_prompt_;
  bool is_new_ = false;
  bool drops_ = false;
};

}  // namespace weft::fine_tuning
