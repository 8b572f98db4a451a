// SPDX-License-Identifier: Apache-2.0
// Models of one stack with a head over a vocabulary, decoders and encoders that guess masked tokens: Weft's own, and
// those of `transformers` that its blocks can express, each in both directions. A family is one value of this struct: a
// new one is a folder next to reformer/ and a row in list.inc.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/models/transformer_config.h"
#include "weft/models/weight_map.h"

namespace weft::models {

/// What `transformers` 5 computes otherwise, where Weft does what a model was trained with.
struct LikeTransformers {
  std::vector<std::string> attention = {};  ///< mechanism of each layer; empty: as the config says
  bool without_head_bias = false;
  bool behind_zeros = false;  ///< a text begins behind a memory of zeros (training::EvaluateOptions)
};

/// A file of the tokeniser that a run of Weft's calls otherwise.
struct RenamedFile {
  const char* weft;
  const char* theirs;
};

struct CausalRules {
  /// The config that `json` says, of `directory`/config.json. Errors: kFormat, kArgument or kUnsupported naming the
  /// file, the field and the rule.
  TransformerConfig (*from_json)(const formats::Json& json, const std::filesystem::path& directory);
  /// Errors: kUnsupported for a model that such a directory cannot hold, naming the field.
  formats::Json (*to_json)(const TransformerConfig& config);
  /// The names of a model's parameters in such a directory.
  WeightMap (*weights)(const TransformerConfig& config);
  std::vector<RenamedFile> tokenizer_files = {};  ///< beyond those that a Hugging Face tokeniser has

  /// For --like-transformers, where a text is scored; null: nothing differs. `where` names the directory.
  LikeTransformers (*scores_like_transformers)(const TransformerConfig& config, const std::string& where) = nullptr;
  /// The same where a decoder continues a text, as `generate` of transformers does with its cache. Errors: kUnsupported
  /// where that cache loses tokens.
  LikeTransformers (*continues_like_transformers)(const TransformerConfig& config, const std::string& where) = nullptr;
};

}  // namespace weft::models
