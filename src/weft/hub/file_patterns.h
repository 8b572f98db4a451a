// SPDX-License-Identifier: Apache-2.0
// Which files of a repository somebody wants, by patterns as huggingface_hub's allow_patterns and ignore_patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/hub/answers.h"

namespace weft::hub {

/// What `weft download --include --exclude` say. Without any, a model's own files are taken (needed_files.h).
struct FilePatterns {
  std::vector<std::string> include = {};  ///< empty: what a model needs
  std::vector<std::string> exclude = {};  ///< of these files, those that are not wanted

  bool empty() const { return include.empty() && exclude.empty(); }
};

/// Whether the shell's pattern fits the whole path: * and ? also stand for slashes, [a-z] and [!a-z] for one character,
/// and a pattern that ends in a slash for everything in that folder. Case counts.
bool fits_pattern(std::string_view path, std::string_view pattern);

/// Those of `files`, in any folder, that a pattern of `include` fits and none of `exclude`, small ones first. Errors:
/// kFormat where none is left, naming `model` and what there is.
std::vector<HubFile> included_files(const std::vector<HubFile>& files, const FilePatterns& patterns,
                                    const std::string& model);

/// `files` without those that a pattern of `exclude` fits.
std::vector<HubFile> without_excluded(std::vector<HubFile> files, const FilePatterns& patterns);

}  // namespace weft::hub
