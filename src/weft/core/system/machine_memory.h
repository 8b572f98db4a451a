// SPDX-License-Identifier: Apache-2.0
// How much memory there is for this process: what the machine has left, and what control groups (containers, services)
// allow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace weft {

struct MachineMemory {
  std::int64_t bytes = 0;
  std::string source;  ///< who says so, for a message: "MemAvailable of /proc/meminfo"
};

/// The smallest of MemAvailable and the limits of the process's control groups, version 1 or 2; nothing where none of
/// them can be read. A limit counts whole: what the group has in use may be files that the system gives up. Looks below
/// `root`, which tests replace.
std::optional<MachineMemory> machine_memory(const std::filesystem::path& root = "/");

/// Bytes of this process in memory, files of programs included; 0 where the system does not say.
std::int64_t resident_memory();

}  // namespace weft
