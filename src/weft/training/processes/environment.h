// SPDX-License-Identifier: Apache-2.0
// Where this process stands among those that train together, as torchrun and mpirun tell by environment variables.
#pragma once

#include <chrono>
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

}  // namespace weft::training
