// SPDX-License-Identifier: Apache-2.0
// Any texts as the variables of a launcher, and any as what answers where the first process should be: either a
// one-line error, or a place among the processes, a run of theirs.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/support/tokenise.h"
#include "weft/training/processes/environment.h"

namespace {

constexpr std::array<const char*, 8> kVariables = {
    "RANK",        "WORLD_SIZE",  "OMPI_COMM_WORLD_RANK",         "OMPI_COMM_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"};

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// "-" is a variable that is not set.
void set_variables(const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < kVariables.size(); ++i) {
    if (values[i] == "-") {
      ::unsetenv(kVariables[i]);
    } else {
      ::setenv(kVariables[i], values[i].c_str(), 1);
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = weft::fuzz::parts_of(data, size, kVariables.size() + 1);
  set_variables(parts);
  weft::training::ProcessPlace place;
  weft::fuzz::one_line_errors([&] {
    const auto found = weft::training::process_place();
    if (found) {
      expect(found->size > 1 && found->rank >= 0 && found->rank < found->size && found->port > 0);
      place = *found;
    }
  });
  weft::fuzz::one_line_errors([&] {
    const auto run = weft::training::announced_run(parts.back(), place);
    expect(run.token.size() == weft::training::AnnouncedRun::kTokenDigits);
  });
  return 0;
}
