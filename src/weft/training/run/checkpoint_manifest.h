// SPDX-License-Identifier: Apache-2.0
// The manifest of a checkpoint, its state.json: written last, it says how far the run is and lists the other files with
// their sizes and digests. A checkpoint without it is none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/formats/config_json.h"

namespace weft::training {

/// The manifest's name.
inline constexpr const char* kManifestFile = "state.json";

/// A checkpoint that was whole when it was looked at: every file was there with its size.
struct Checkpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  formats::Json state;  ///< its manifest

  std::string where() const;  ///< the manifest's path in quotes, for messages
};

/// N of a folder "step-N", or nothing for any other name.
std::optional<std::int64_t> checkpoint_step(const std::filesystem::path& path);

/// Every file below `directory`, as a path from there: an attention's graph may lie in a folder of its own. Errors:
/// kFormat for a link that leaves `directory`.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory);

/// Writes the manifest of the files that lie in `directory`: `state` with "step", "files" (name to bytes) and "digests"
/// (name to digest; that of the manifest itself is of all its other content). Errors: kIo.
void write_manifest(const std::filesystem::path& directory, std::int64_t step, formats::Json state);

/// The checkpoint at `path` if it is whole; reads no file but the manifest. A manifest that cannot be read is a warning
/// and no checkpoint.
std::optional<Checkpoint> read_checkpoint(const std::filesystem::path& path);

/// Reads every file of the checkpoint and holds it to its digest: false when the checkpoint has none, as earlier
/// versions of Weft wrote it. Errors: kFormat naming the file, the digest expected and the one found; kIo.
bool verify(const Checkpoint& checkpoint);

}  // namespace weft::training
