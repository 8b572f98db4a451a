// SPDX-License-Identifier: Apache-2.0
// Sizes are looked at whenever a checkpoint is; digests, which need every byte, before a run goes on from it.
#include "weft/training/run/checkpoint_manifest.h"

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/disk/digest.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kDigests = "digests";

std::string shown(const fs::path& path) { return quote(path.native(), 4096); }

// Of the content, not of the text: another indentation changes nothing.
std::string digest_without_own(Json state) {
  state[kDigests].erase(kManifestFile);
  return digest_of(formats::print_json(state));
}

void hold_to(const std::string& expected, const std::string& found, const Checkpoint& checkpoint,
             const std::string& name) {
  if (expected != found) {
    throw Error(
        ErrorKind::kFormat,
        concat(shown(checkpoint.path / name), " is damaged or belongs to another checkpoint: its digest must be ",
               quote(expected), ", found ", quote(found)),
        concat("put the file back, or remove ", shown(checkpoint.path), " to go on from the checkpoint before it"));
  }
}

bool has_listed_sizes(const Checkpoint& checkpoint) {
  const std::string where = checkpoint.where();
  for (const auto& [name, size] : formats::object_member(checkpoint.state, "files", where).items()) {
    std::int64_t bytes = 0;
    formats::read_value(size, concat(where, ": files: ", quote(name)), bytes);
    if (fs::file_size(checkpoint.path / name) != static_cast<std::uintmax_t>(bytes)) {
      return false;
    }
  }
  return formats::value_of<std::int64_t>(checkpoint.state, "step", where) == checkpoint.step;
}

}  // namespace

std::string Checkpoint::where() const { return shown(path / kManifestFile); }

std::optional<std::int64_t> checkpoint_step(const fs::path& path) {
  constexpr std::string_view kPrefix = "step-";
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> step = integer_of(std::string_view(name).substr(kPrefix.size()));
  return step && *step >= 0 ? step : std::nullopt;
}

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_symlink()) {
      check_stays_within(directory, entry.path());
    }
    if (entry.is_regular_file()) {
      files.push_back(entry.path().lexically_relative(directory));
    }
  }
  return files;
}

void write_manifest(const fs::path& directory, std::int64_t step, Json state) {
  state["step"] = step;
  Json sizes = Json::object();
  Json digests = Json::object();
  for (const fs::path& file : files_below(directory)) {
    sizes[file.string()] = fs::file_size(directory / file);
    digests[file.string()] = digest_of_file(ModelFile(directory, file));
  }
  state["files"] = std::move(sizes);
  state[kDigests] = std::move(digests);
  state[kDigests][kManifestFile] = digest_without_own(state);
  write_file_atomically(directory / kManifestFile, formats::print_json(state, 2) + "\n");
}

std::optional<Checkpoint> read_checkpoint(const fs::path& path) {
  const auto step = checkpoint_step(path);
  const ModelFile manifest(path, kManifestFile);
  if (!step || !manifest.exists()) {
    return std::nullopt;
  }
  check_stays_within(path.parent_path().parent_path(), path);
  try {
    Checkpoint checkpoint{*step, path, formats::read_json(manifest)};
    return has_listed_sizes(checkpoint) ? std::optional(std::move(checkpoint)) : std::nullopt;
  } catch (const std::exception& damage) {
    log_warning(shown(path), " is skipped: ", damage.what());
    return std::nullopt;
  }
}

bool verify(const Checkpoint& checkpoint) {
  const Json& state = checkpoint.state;
  if (!state.contains(kDigests)) {
    return false;
  }
  const Json& digests = formats::object_member(state, kDigests, checkpoint.where());
  const auto expected = [&](const std::string& name) {
    return formats::value_of<std::string>(digests, name, checkpoint.where() + ": digests");
  };
  hold_to(expected(kManifestFile), digest_without_own(state), checkpoint, kManifestFile);
  for (const auto& [name, size] : formats::object_member(state, "files", checkpoint.where()).items()) {
    hold_to(expected(name), digest_of_file(ModelFile(checkpoint.path, name)), checkpoint, name);
  }
  return true;
}

}  // namespace weft::training
