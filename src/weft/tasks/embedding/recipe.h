// SPDX-License-Identifier: Apache-2.0
// How the token vectors of a text become its vector: what a directory's modules say, and what a caller said in their
// place. The same as tensors with gradients, for training.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/checkpoint/sentence/sentence_directory.h"
#include "weft/formats/config_json.h"

namespace weft::tasks {

/// What a user says in place of a directory; what is not there follows the directory.
struct EmbedOverrides {
  std::vector<checkpoint::PoolingMode> pooling = {};  ///< empty: the directory's
  std::optional<bool> normalize = {};           ///< true: length 1 at the very end; false: no Normalize at the end
  std::optional<std::string> prompt = {};       ///< put before each text; empty: no prompt
  std::optional<std::string> prompt_name = {};  ///< of the directory's prompts; not together with `prompt`
  std::optional<std::int64_t> dimensions = {};  ///< numbers that are kept of a vector; 0: all
};

/// What is done to the vectors of a text's tokens, in this order: pooling, the modules, the cut to `dimensions`, the
/// norm where `normalize`. A plain encoder: mean pooling and nothing more.
struct EmbedRecipe {
  checkpoint::PoolingModule pooling;
  std::vector<checkpoint::SentenceModule> modules = {};  ///< behind the pooling: Dense, LayerNorm, Normalize, Dropout
  std::int64_t dimensions = 0;                           ///< numbers that are kept; 0: all
  bool normalize = false;                                ///< once more, at the very end
  std::map<std::string, std::string> prompts = {};       ///< that a request may name
  std::string prompt = {};                               ///< put before each text, unless a request names another one
  std::string prompt_name = {};                          ///< what `prompt` is called; empty: it has no name, or is none
  std::string similarity = "cosine";
  bool of_directory = false;  ///< whether there is a modules.json
};

/// `directory`'s recipe, or that of a plain encoder where it is null, with `overrides` over it; `width` is that of the
/// transformer's token vectors, `where` the directory's name in errors. Errors: kFormat where the Pooling or the module
/// behind it expects another width; kArgument for a pooling whose width the modules do not take, an unknown prompt
/// name, a prompt and a name together, and dimensions beyond the width.
EmbedRecipe make_recipe(const std::optional<checkpoint::SentenceDirectory>& directory, std::int64_t width,
                        const EmbedOverrides& overrides, const std::string& where);

/// What one request may say in place of the recipe.
struct EmbedRequest {
  std::optional<bool> normalize = {};           ///< as EmbedOverrides::normalize
  std::optional<std::int64_t> dimensions = {};  ///< as EmbedOverrides::dimensions
  std::optional<std::string> prompt = {};       ///< as EmbedOverrides::prompt
  std::optional<std::string> prompt_name = {};  ///< as EmbedOverrides::prompt_name
};

/// The recipe with what the request says. Errors: kArgument as make_recipe().
EmbedRecipe with_request(const EmbedRecipe& recipe, const EmbedRequest& request, const std::string& where);

/// Numbers of a vector: of a whole one, `recipe.dimensions` not counted, and of a result.
std::int64_t whole_width(const EmbedRecipe& recipe);
std::int64_t width(const EmbedRecipe& recipe);

/// Whether vectors have length 1: a request or the last module that computes says so.
bool is_normalized(const EmbedRecipe& recipe);

/// The vector of each row of one batch, with gradients: hidden [batch, length, width], mask [batch, length] (nonzero:
/// no padding) -> [batch, width(recipe)] in at least float32. `prompt_tokens`: leading tokens of a row that are its
/// prompt (with what stands before it), left out where the recipe does not include the prompt. `training` is for
/// dropout. Equal to sentence_transformers' modules; a row without a token gives zeros (max: minus infinity).
at::Tensor embed_tensor(const EmbedRecipe& recipe, const at::Tensor& hidden, const at::Tensor& mask,
                        std::int64_t prompt_tokens = 0, bool training = false);

/// The pooling alone: [batch, modes x width].
at::Tensor pool_tensor(const checkpoint::PoolingModule& pooling, const at::Tensor& hidden, const at::Tensor& mask,
                       std::int64_t prompt_tokens = 0);

/// All behind the pooling: modules, cut, norm; pooled [..., modes x width] -> [..., width(recipe)]. What late chunking
/// calls with the means of its chunks.
at::Tensor after_pooling(const EmbedRecipe& recipe, const at::Tensor& pooled, bool training = false);

/// What is applied, for results: {"pooling": "mean" or ["cls", "mean"], "modules": what stands behind it as text,
/// "normalized", "prompt" where there is one, "dimensions"}.
formats::Json applied(const EmbedRecipe& recipe);

}  // namespace weft::tasks
