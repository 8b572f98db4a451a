// SPDX-License-Identifier: Apache-2.0
// A model from the Hub into the cache. A file appears under its name only whole and with the digest that the Hub's
// listing gives it; what was interrupted goes on at the byte where it stopped, in this process or in a later one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/hub/file_patterns.h"
#include "weft/hub/hub_client.h"
#include "weft/hub/needed_files.h"

namespace weft::hub {

/// What a download left in the cache.
struct Downloaded {
  std::filesystem::path snapshot;
  std::string commit;
  std::size_t files = 0;      ///< of the model
  std::uint64_t bytes = 0;    ///< of the model
  std::uint64_t fetched = 0;  ///< bytes that came over the network now
};

/// Takes what is needed of the name's revision as it is now, or what `patterns` say. Files that the cache has are not
/// asked for again.
/// Errors: those of HubClient; kIo where the disk has no room, or a file never comes whole; kFormat where the Hub sends
/// other bytes than it lists; kInterrupted.
Downloaded download_model(const ModelName& name, const HubSettings& settings, Need need = Need::kModel,
                          const FilePatterns& patterns = {});

}  // namespace weft::hub
