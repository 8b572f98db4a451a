// SPDX-License-Identifier: Apache-2.0
// Where this process stands among those that train together, as torchrun and mpirun tell by environment variables and
// the first process tells the others. No LibTorch here: these texts are from elsewhere, and are fuzzed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weft::training {

/// One of `size` processes, and where they meet.
struct ProcessPlace {
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::string address = "127.0.0.1";
  std::uint16_t port = 29500;
  bool launcher_keeps_store = false;                             ///< torchrun listens at the address itself
  std::string round = "0";                                       ///< tells one attempt of a launcher from the next
  std::chrono::milliseconds patience = std::chrono::minutes(5);  ///< for all to come
};

/// RANK and WORLD_SIZE (torchrun), else OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE (Open MPI's mpirun), with
/// MASTER_ADDR and MASTER_PORT; nothing without them, or where the size is 1.
/// Errors: kArgument that names the variable and its value, also for one of the two without the other.
std::optional<ProcessPlace> process_place();

/// What the first process of a run tells those that come: "<processes> <token>", where the token is this run's alone.
struct AnnouncedRun {
  static constexpr std::size_t kTokenDigits = 32;  ///< of the token, in lower-case hexadecimal

  std::int64_t size = 0;
  std::string token;
};

/// Reads what answered at the address of `place`: anything may listen there. Errors: kIo naming the address and quoting
/// a text that is none of a run.
AnnouncedRun announced_run(const std::string& text, const ProcessPlace& place);

}  // namespace weft::training
