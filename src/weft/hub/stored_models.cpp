// SPDX-License-Identifier: Apache-2.0
// Walks folders that anybody may have changed: what cannot be read counts as damage, and no walk follows a link.
#include "weft/hub/stored_models.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "weft/core/disk/model_file.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/hub/blob_digest.h"
#include "weft/hub/cache.h"

namespace weft::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinishedEnd = "incomplete";  // huggingface_hub's files end so, too

template <typename Iterator>
void collect(const fs::path& folder, std::vector<fs::path>& found) {
  std::error_code error;
  for (Iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    fail_io("list", folder, error.value());
  }
}

// Entries below `folder`, links as links, sorted; none where there is no such folder.
std::vector<fs::path> entries_below(const fs::path& folder, bool deep) {
  std::vector<fs::path> found;
  if (deep) {
    collect<fs::recursive_directory_iterator>(folder, found);
  } else {
    collect<fs::directory_iterator>(folder, found);
  }
  std::ranges::sort(found);
  return found;
}

bool is_link_or_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  return fs::is_symlink(status) || fs::is_regular_file(status);
}

// Bytes of the file that the path leads to, 0 where it leads nowhere.
std::uint64_t bytes_of(const fs::path& path) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

// Bytes of the path itself: a link has none.
std::uint64_t own_bytes(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error)) ? bytes_of(path) : 0;
}

StoredRevision revision_at(const fs::path& snapshot, const ModelCache& cache, const fs::path& references) {
  StoredRevision revision;
  revision.commit = snapshot.filename().native();
  for (const fs::path& file : entries_below(snapshot, true)) {
    if (is_link_or_file(file)) {
      ++revision.files;
      revision.bytes += bytes_of(file);
    }
  }
  for (const fs::path& file : entries_below(references, true)) {
    const std::string name = file.lexically_relative(references).native();
    if (is_link_or_file(file) && cache.commit_of(name) == revision.commit) {
      revision.names.push_back(name);
    }
  }
  return revision;
}

StoredModel model_at(const fs::path& folder, const std::string& repository) {
  StoredModel model;
  model.repository = repository;
  model.folder = folder;
  const ModelCache cache(folder.parent_path(), ModelName{repository});
  for (const fs::path& file : entries_below(folder, true)) {
    const std::uint64_t bytes = own_bytes(file);
    model.bytes += bytes;
    model.unfinished += file.native().ends_with(kUnfinishedEnd) ? bytes : 0;
  }
  for (const fs::path& snapshot : entries_below(folder / "snapshots", false)) {
    std::error_code error;
    if (fs::is_directory(fs::symlink_status(snapshot, error))) {
      model.revisions.push_back(revision_at(snapshot, cache, folder / "refs"));
    }
  }
  return model;
}

void verify_blob(const fs::path& blob, Verified& verified) {
  const std::string name = blob.filename().native();
  if (name.ends_with(kUnfinishedEnd)) {
    return;
  }
  if (!is_hex(name, 40) && !is_hex(name, 64)) {
    ++verified.unnamed;
    return;
  }
  ++verified.blobs;
  verified.bytes += bytes_of(blob);
  try {
    const std::string digest = blob_digest(blob, name);
    if (digest != name) {
      verified.damages.push_back(
          {blob, concat("expected the digest ", name, ", as the file is called, found ", digest, " of its bytes")});
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) {
      throw;
    }
    verified.damages.push_back({blob, error.what()});
  }
}

// A link of a snapshot leads to a blob of its model, perhaps by way of the cache's own blobs, and nowhere else.
void verify_link(const fs::path& folder, const fs::path& file, Verified& verified) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(file, error))) {
    return;
  }
  if (!fs::exists(file, error)) {
    verified.damages.push_back({file, "the file that it links to is not there"});
    return;
  }
  const fs::path within = file.lexically_relative(folder / "snapshots");
  try {
    check_stays_within(folder / "snapshots" / *within.begin(), file);
  } catch (const Error& damage) {
    verified.damages.push_back({file, damage.what()});
  }
}

// The blobs that links of the snapshots lead to, by name.
std::set<std::string> blobs_in_use(const fs::path& folder, const std::string& without_commit) {
  std::set<std::string> names;
  for (const fs::path& snapshot : entries_below(folder / "snapshots", false)) {
    if (snapshot.filename() == without_commit) {
      continue;
    }
    for (const fs::path& file : entries_below(snapshot, true)) {
      std::error_code error;
      const fs::path target = fs::read_symlink(file, error);
      if (!error) {
        names.insert(target.filename().native());
      }
    }
  }
  return names;
}

// remove_all() removes links as links.
std::uint64_t removed(const fs::path& path) {
  std::uint64_t bytes = own_bytes(path);
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(path, error))) {
    for (const fs::path& file : entries_below(path, true)) {
      bytes += own_bytes(file);
    }
  }
  fs::remove_all(path, error);
  if (error) {
    fail_io("remove", path, error.value());
  }
  return bytes;
}

// The names go first: no name may lead to a commit of which a part is gone.
std::uint64_t remove_revision(const StoredModel& model, const StoredRevision& revision) {
  for (const std::string& name : revision.names) {
    removed(model.folder / "refs" / name);
  }
  const std::set<std::string> kept = blobs_in_use(model.folder, revision.commit);
  std::uint64_t bytes = removed(model.folder / "snapshots" / revision.commit);
  removed(model.folder / ".no_exist" / revision.commit);
  for (const fs::path& blob : entries_below(model.folder / "blobs", false)) {
    const std::string blob_name = blob.filename().native();
    const bool unfinished = blob_name.ends_with(kUnfinishedEnd);  // another program may be writing it
    bytes += unfinished || kept.contains(blob_name) ? 0 : removed(blob);
  }
  if (model.revisions.size() == 1 && entries_below(model.folder / "blobs", false).empty()) {
    removed(model.folder);
  }
  return bytes;
}

}  // namespace

std::vector<StoredModel> stored_models(const fs::path& cache) {
  std::vector<StoredModel> models;
  for (const fs::path& folder : entries_below(cache, false)) {
    const std::optional<std::string> repository = repository_of_folder(folder.filename().native());
    std::error_code error;
    if (repository && fs::is_directory(folder, error)) {
      models.push_back(model_at(folder, *repository));
    }
  }
  return models;
}

Verified verify_model(const StoredModel& model) {
  Verified verified;
  for (const fs::path& blob : entries_below(model.folder / "blobs", false)) {
    verify_blob(blob, verified);
  }
  for (const fs::path& file : entries_below(model.folder / "snapshots", true)) {
    verify_link(model.folder, file, verified);
  }
  return verified;
}

std::uint64_t remove_model(const fs::path& cache, const ModelName& name, bool whole) {
  const ModelCache place(cache, name);
  std::error_code error;
  if (!fs::is_directory(place.folder(), error)) {
    throw Error(ErrorKind::kArgument,
                concat("the cache ", quote(cache.native(), 4096), " has no model ", quote(name.repository)),
                "see `weft cache list`");
  }
  if (whole) {
    const std::uint64_t bytes = removed(place.folder());
    removed(cache / ".locks" / name.folder());
    return bytes;
  }
  const StoredModel model = model_at(place.folder(), name.repository);
  const std::optional<std::string> commit = place.commit_of(name.revision);
  const auto found = std::ranges::find_if(
      model.revisions, [&](const StoredRevision& revision) { return commit && revision.commit == *commit; });
  if (found == model.revisions.end()) {
    throw Error(ErrorKind::kArgument,
                concat("the cache has no revision ", quote(name.revision), " of ", quote(name.repository)),
                "see `weft cache list`");
  }
  return remove_revision(model, *found);
}

}  // namespace weft::hub
