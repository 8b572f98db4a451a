// SPDX-License-Identifier: Apache-2.0
// Machines and containers as files below a folder: the smallest limit counts, and what is no number is none.
#include "weft/core/system/machine_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  write_file_atomically(file, text);
}

TEST(MachineMemory, IsWhatTheMachineHasLeft) {
  const test::TemporaryDirectory root;
  EXPECT_FALSE(machine_memory(root.path()).has_value());
  write(root.path() / "proc/meminfo", "MemTotal:       2000 kB\nMemFree:  5 kB\nMemAvailable:    1000 kB\n");
  const auto memory = machine_memory(root.path());
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->bytes, 1024000);
  EXPECT_NE(memory->source.find("MemAvailable"), std::string::npos);
}

TEST(MachineMemory, IsNoMoreThanAGroupAroundTheProcessMayHave) {
  const test::TemporaryDirectory root;
  write(root.path() / "proc/meminfo", "MemAvailable:    1000 kB\n");
  write(root.path() / "proc/self/cgroup", "0::/a/b\n");
  write(root.path() / "sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(machine_memory(root.path())->bytes, 1024000);
  write(root.path() / "sys/fs/cgroup/a/memory.max", "5000\n");
  EXPECT_EQ(machine_memory(root.path())->bytes, 5000);
  EXPECT_NE(machine_memory(root.path())->source.find("memory.max"), std::string::npos);
  write(root.path() / "sys/fs/cgroup/memory.max", "4000\n");
  EXPECT_EQ(machine_memory(root.path())->bytes, 4000);
}

TEST(MachineMemory, KnowsGroupsOfVersionOne) {
  const test::TemporaryDirectory root;
  write(root.path() / "proc/self/cgroup", "broken\n9:name=systemd:/a\n8:cpu,memory:/docker/x\n");
  write(root.path() / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(machine_memory(root.path())->bytes, 9223372036854771712);
  write(root.path() / "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "123\n");
  EXPECT_EQ(machine_memory(root.path())->bytes, 123);
}

TEST(MachineMemory, NumbersThatAreNoneSetNoLimit) {
  const test::TemporaryDirectory root;
  write(root.path() / "proc/meminfo", "MemAvailable: many kB\n");
  write(root.path() / "proc/self/cgroup", "0::/\n");
  write(root.path() / "sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
  EXPECT_FALSE(machine_memory(root.path()).has_value());
}

TEST(MachineMemory, ThisProcessHasSome) { EXPECT_GT(resident_memory(), 0); }

}  // namespace
}  // namespace weft
