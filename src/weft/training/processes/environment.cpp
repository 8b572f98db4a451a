// SPDX-License-Identifier: Apache-2.0
// Reading the launcher's variables, and what the first process says.
#include "weft/training/processes/environment.h"

#include <string_view>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::training {
namespace {

// Every process is connected to every other one.
constexpr std::int64_t kMostProcesses = 4096;

std::int64_t whole_number(const std::string& name, std::int64_t low, std::int64_t high) {
  const std::string value = environment(name).value_or("");
  const std::optional<std::int64_t> number = integer_of(value);
  require(number && *number >= low && *number <= high, name, " must be a whole number from ", low, " to ", high,
          ", found ", Quoted(value));
  return *number;
}

// A process with one of the two alone would train by itself while the others wait for it.
void require_both(const std::string& rank, const std::string& size) {
  for (const auto& [there, absent] : {std::pair(rank, size), std::pair(size, rank)}) {
    if (environment(there) && !environment(absent)) {
      throw Error(ErrorKind::kArgument,
                  concat(there, " is set and ", absent, " is not: processes that train together have both"),
                  concat("set ", absent, " too, or unset ", there, " to train with one process"));
    }
  }
}

}  // namespace

std::optional<ProcessPlace> process_place() {
  const bool open_mpi = !environment("RANK") && !environment("WORLD_SIZE") &&
                        (environment("OMPI_COMM_WORLD_RANK") || environment("OMPI_COMM_WORLD_SIZE"));
  const std::string rank = open_mpi ? "OMPI_COMM_WORLD_RANK" : "RANK";
  const std::string size = open_mpi ? "OMPI_COMM_WORLD_SIZE" : "WORLD_SIZE";
  require_both(rank, size);
  if (!environment(rank)) {
    return std::nullopt;
  }
  ProcessPlace place;
  place.size = whole_number(size, 1, kMostProcesses);
  place.rank = whole_number(rank, 0, place.size - 1);
  if (place.size == 1) {
    return std::nullopt;
  }
  place.address = environment("MASTER_ADDR").value_or(place.address);
  if (environment("MASTER_PORT")) {
    place.port = static_cast<std::uint16_t>(whole_number("MASTER_PORT", 1, 65535));
  }
  place.launcher_keeps_store = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  place.round = environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return place;
}

AnnouncedRun announced_run(const std::string& text, const ProcessPlace& place) {
  const std::size_t blank = text.find(' ');
  const std::optional<std::int64_t> size =
      blank == std::string::npos ? std::nullopt : integer_of(std::string_view(text).substr(0, blank));
  const std::string token = size ? text.substr(blank + 1) : "";
  if (token.size() != AnnouncedRun::kTokenDigits || token.find_first_not_of(kHexDigits) != std::string::npos) {
    fail(ErrorKind::kIo, "what answers at ", quote(place.address), ", port ", place.port,
         ", is not process 0 of a run: it says ", quote(text));
  }
  return {*size, token};
}

}  // namespace weft::training
