// SPDX-License-Identifier: Apache-2.0
// Files of Linux: /proc/meminfo, /proc/self/cgroup and the groups' own. What is not there or is no number sets no
// limit.
#include "weft/core/system/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include <unistd.h>

#include "weft/core/number.h"

namespace weft {
namespace {

constexpr std::string_view kDigits = "0123456789";

// The first whole number of `line`.
std::optional<std::int64_t> number_in(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_of(kDigits), line.size());
  const std::size_t end = std::min(line.find_first_not_of(kDigits, begin), line.size());
  return integer_of(line.substr(begin, end - begin));
}

std::optional<std::int64_t> number_of_file(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) ? number_in(line) : std::nullopt;
}

void lower(std::optional<MachineMemory>& least, std::optional<std::int64_t> bytes, const std::string& source) {
  if (bytes && (!least || *bytes < least->bytes)) {
    least = {*bytes, source};
  }
}

void look_at_machine(std::optional<MachineMemory>& least, const std::filesystem::path& root) {
  constexpr std::int64_t kKibibyte = 1024;
  constexpr std::string_view kName = "MemAvailable:";
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(kName)) {
      const std::optional<std::int64_t> kibibytes = number_in(std::string_view(line).substr(kName.size()));
      lower(least, kibibytes ? std::optional(*kibibytes * kKibibyte) : std::nullopt, "MemAvailable of /proc/meminfo");
    }
  }
}

// A group and those around it, up to the root of its tree: each may have a limit. A container often sees its own group
// as the root, whatever the path says.
void look_at_group(std::optional<MachineMemory>& least, const std::filesystem::path& tree, std::string group,
                   const char* file) {
  while (true) {
    const std::filesystem::path limit = tree / std::filesystem::path(group).relative_path() / file;
    lower(least, number_of_file(limit), "the limit of the control group, " + std::string(file));
    if (group.empty() || group == "/") {
      return;
    }
    group.resize(group.rfind('/'));
  }
}

void look_at_groups(std::optional<MachineMemory>& least, const std::filesystem::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "0::/a/b", or "4:cpu,memory:/a/b"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) {
      continue;
    }
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (names == ",,") {
      look_at_group(least, root / "sys/fs/cgroup", group, "memory.max");
    } else if (names.find(",memory,") != std::string::npos) {
      look_at_group(least, root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
  }
}

}  // namespace

std::optional<MachineMemory> machine_memory(const std::filesystem::path& root) {
  std::optional<MachineMemory> least;
  look_at_machine(least, root);
  look_at_groups(least, root);
  return least;
}

std::int64_t resident_memory() {
  std::ifstream in("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  in >> pages >> resident;
  return in ? resident * static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace weft
