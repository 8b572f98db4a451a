// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of `weft profile`: either a one-line error, or sums that fit what the metadata say of them, that
// add up with themselves, and that are written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support/memory_file.h"
#include "weft/core/error.h"
#include "weft/profile/attention_profile.h"

namespace weft::fuzz {
namespace {

bool same_sums(const profile::MassSums& a, const profile::MassSums& b) {
  return a.queries() == b.queries() && a.keys() == b.keys() && a.tile == b.tile && a.key == b.key &&
         a.distance == b.distance && a.entropy == b.entropy && a.rows == b.rows && a.edge == b.edge;
}

/// Of each part that has sums; a merge of one profile is that profile.
void check_profile(const profile::AttentionProfile& read) {
  for (const profile::Part& part : read.parts) {
    if (part.site.reason.empty() && part.sums.queries() > 0) {
      part.sums.check("fuzz");
    }
    if (read.find(part.site.name) != &part) {
      std::abort();
    }
  }
  const std::vector<std::string> names = {"fuzz"};
  const profile::AttentionProfile merged = profile::merge_profiles({read}, names);
  for (std::size_t part = 0; part < read.parts.size(); ++part) {
    if (!same_sums(merged.parts[part].sums, read.parts[part].sums)) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace weft::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::fuzz::MemoryFile file(data, size);
  try {
    weft::fuzz::check_profile(weft::profile::read_profile(file.path()));
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
