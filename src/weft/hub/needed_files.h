// SPDX-License-Identifier: Apache-2.0
// What of a repository a model needs: its weights once, safetensors before pickles, and the small files beside them; of
// sentence-transformers the same of each module's folder. Weights for other programs, states of optimisers and pictures
// stay where they are.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/hub/answers.h"

namespace weft::hub {

/// What somebody wants a repository for.
enum class Need {
  kModel,      ///< config, weights and tokeniser
  kTokenizer,  ///< all but weights
};

/// Whether modules.json is among the files, so that the folders below belong to the model.
bool has_modules(const std::vector<HubFile>& files);

/// Those of `files` that are needed, small ones first. Of folders those of modules are looked into: 1_Pooling, 2_Dense.
/// Errors: kFormat for a model without config.json or without weights that Weft reads, naming what there is instead.
std::vector<HubFile> needed_files(const std::vector<HubFile>& files, Need need, const std::string& model);

/// Whether a tokeniser cannot be without a file of this name, or one like it.
bool is_tokenizer_file(std::string_view name);

/// How much of a model lies in a snapshot of the cache.
enum class Held {
  kNothing,  ///< no config.json, or a weight or a module of modules.json is missing
  kModel,    ///< config and weights, but no tokeniser: the Hub may have one
  kAll,      ///< a tokeniser, too, or the Hub is known to have none
};

/// What the snapshot has of what is needed. A link whose file is gone counts as missing. Never throws for what is
/// there.
Held held_files(const std::filesystem::path& snapshot, Need need);

}  // namespace weft::hub
