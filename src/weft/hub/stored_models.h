// SPDX-License-Identifier: Apache-2.0
// What lies in the cache: listed, checked byte by byte, and removed. Other programs' models are in it as well, and
// whatever is no model of a Hub is left alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/hub/model_name.h"

namespace weft::hub {

/// A commit of a model in the cache.
struct StoredRevision {
  std::string commit;
  std::vector<std::string> names;  ///< branches and tags that were this commit at their last download
  std::size_t files = 0;
  std::uint64_t bytes = 0;  ///< of its files, those shared with other commits included
};

struct StoredModel {
  std::string repository;
  std::filesystem::path folder;
  std::uint64_t bytes = 0;       ///< on disk below the folder, each file once
  std::uint64_t unfinished = 0;  ///< of these, interrupted downloads
  std::vector<StoredRevision> revisions;
};

/// The models below `cache`, by name; none where there is no such folder. Errors: kIo.
std::vector<StoredModel> stored_models(const std::filesystem::path& cache);

/// A file that is not what its name says.
struct Damage {
  std::filesystem::path file;
  std::string problem;
};

/// What verify_model() looked at.
struct Verified {
  std::size_t blobs = 0;
  std::uint64_t bytes = 0;
  std::size_t unnamed = 0;  ///< files whose name is no digest, and says nothing of their bytes
  std::vector<Damage> damages;
};

/// Computes the digest of every file, and looks where every link of every snapshot leads. Errors: kInterrupted.
Verified verify_model(const StoredModel& model);

/// Removes the model, or with `revision` one commit and the files that no other has; returns the bytes that became
/// free. A link is removed, and never what it leads to outside of the model's folder. Errors: kArgument where the cache
/// has no such model or revision, naming those it has; kIo.
std::uint64_t remove_model(const std::filesystem::path& cache, const ModelName& name, bool whole);

}  // namespace weft::hub
