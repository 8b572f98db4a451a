// SPDX-License-Identifier: Apache-2.0
// The file of `weft prune`: a pattern for each layer, as an expression of the pattern language, with what it keeps and
// what it was made of; and beside it, in a folder of the same name, the graphs that the expressions name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/profile/prune/prune.h"

namespace weft::profile {

/// What a prune was made of.
struct PruneOrigin {
  const AttentionProfile& profile;
  std::filesystem::path profile_path;
  std::filesystem::path model_directory;  ///< files that the patterns name lie below
  const PruneSettings& settings;
  bool measures_graphs = true;  ///< paths and spectral gap of layers with as many queries as keys, up to 4,096
  bool costs_are_seconds = false;
};

/// Before anything is computed: whether the graphs of `path` can go into the folder of its name. Errors: UsageError for
/// a name without an ending; kArgument where that folder is there and holds something else than the graphs of an
/// earlier `path`, or graphs of the model's own patterns, and where another file is in the way of one of these.
void check_prune_path(const std::filesystem::path& path, const PruneOrigin& origin);

/// Writes `path` and the folder beside it, the folder first, each atomically, and returns what `path` holds. Errors:
/// those of check_prune_path(), before anything is written; kIo.
formats::Json write_prune(const std::filesystem::path& path, const PruneOrigin& origin,
                          const std::vector<PruneResult>& results);

/// A file of weft prune, or of weft propose.
struct PrunedPatterns {
  std::filesystem::path directory;  ///< files that the expressions name lie below
  std::string model_kind;
  std::string model_digest;
  /// attention; or encoder_attention, decoder_attention and cross_attention. The expressions of the layers.
  struct List {
    std::string name;
    std::vector<std::string> expressions;
    std::int64_t heads = 1;
  };
  std::vector<List> lists;

  const List* find(std::string_view name) const;
};

/// Errors: kIo, kFormat naming the file and the field.
PrunedPatterns read_prune(const std::filesystem::path& path);

/// What a file of weft prune, or of weft propose, begins with: its version, and the model.
formats::Json begun_prune_file(const ModelOrigin& model);

/// What the file says its costs are in; `costs_are_seconds` as LayoutCost has it.
std::string cost_unit(bool costs_are_seconds);

/// Copies the graphs that the profile's own patterns name from the directory `from` to `to`, under the names that they
/// have there. Errors: kIo; kArgument where another file of that name is in the way.
void write_base_files(const AttentionProfile& profile, const std::filesystem::path& from,
                      const std::filesystem::path& to);

/// The name of the list that a layer's expression is in.
std::string list_of(const PartSite& site);

/// The expressions of all parts of a profile by list: `replaced` by part, where not empty, else the part's own. With
/// the heads of each list under "shape".
formats::Json attention_lists(const AttentionProfile& profile, const std::vector<std::string>& replaced);

}  // namespace weft::profile
