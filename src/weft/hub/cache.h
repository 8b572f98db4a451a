// SPDX-License-Identifier: Apache-2.0
// The cache of huggingface_hub on disk, which Python's programs share:
//   <cache>/models--org--name/blobs/<etag>                 the bytes; may link on to <cache>/blobs/<2 hex>/<hash>
//   <cache>/models--org--name/snapshots/<commit>/<file>    a relative link to ../../blobs/<etag>
//   <cache>/models--org--name/refs/<revision>              the commit, without a line end
//   <cache>/.locks/models--org--name/<etag>.lock           held with flock while a blob is written
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/descriptor.h"
#include "weft/hub/model_name.h"

namespace weft::hub {

/// Where the parts of one model lie. Nothing is made or read but by the functions that say so.
class ModelCache {
 public:
  ModelCache(std::filesystem::path cache, const ModelName& name);

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  /// What there is of a blob whose download was interrupted.
  std::filesystem::path incomplete(const std::string& etag) const;
  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path reference(const std::string& revision) const { return folder_ / "refs" / revision; }
  std::filesystem::path lock(const std::string& etag) const;

  /// The commit that `revision` was at the last download, or `revision` itself where it is a commit. Nothing where the
  /// cache does not know it; what is no commit is as good as nothing.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Remembers the commit of a branch or a tag. Errors: kIo.
  void remember(const std::string& revision, const std::string& commit) const;
  /// Makes the snapshot's `file`, a path below it, a link to the blob, in one step. Errors: kIo.
  void link(const std::string& commit, const std::string& file, const std::string& etag) const;
  /// Notes, as huggingface_hub does, that the commit has no such file: an empty .no_exist/<commit>/<file>. Errors: kIo.
  void note_absent(const std::string& commit, const std::string& file) const;

 private:
  std::filesystem::path cache_;
  std::string name_;
  std::filesystem::path folder_;
};

/// The commit in the file of a branch or a tag, which has one line or a part of it; nothing where it has none.
std::optional<std::string> commit_of_reference(std::string_view text);

/// Creates folders. Errors: kIo with the path, and what to set where the cache cannot be written.
void make_folders(const std::filesystem::path& folder);

/// An exclusive lock on a file, as Python's filelock takes it, waited for as long as it takes and given up by the
/// destructor. Errors: kIo; kInterrupted where a guard saw a signal.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);

 private:
  Descriptor file_;
};

}  // namespace weft::hub
