// SPDX-License-Identifier: Apache-2.0
// How things under construction are named: ".<name>.<process>-<number>.weft-tmp", beside their destination.
#pragma once

#include <filesystem>

namespace weft {

/// A name that no other call in this process gives, in the directory of `destination`.
std::filesystem::path temporary_name(const std::filesystem::path& destination);

/// Whether `path` has a name that temporary_name() could have given.
bool is_temporary_name(const std::filesystem::path& path);

/// Where a write to `path` goes: the target of a symbolic link, else `path` itself, without a trailing slash.
std::filesystem::path resolve_destination(const std::filesystem::path& path);

}  // namespace weft
