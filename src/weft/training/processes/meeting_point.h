// SPDX-License-Identifier: Apache-2.0
// Where processes meet, as far as plain sockets go: the address that MASTER_ADDR names, and nothing beyond it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "weft/training/processes/environment.h"

namespace weft::training {

/// Until when the others are waited for.
using Deadline = std::chrono::steady_clock::time_point;

/// A socket that listens at the place's address and port and at no other address of this machine, and the address in
/// digits. Whoever takes the number closes it.
struct ListeningSocket {
  int number = -1;
  std::string address;
};
/// Errors: kArgument for an address that cannot be resolved or is none of this machine; kIo where the port is taken.
ListeningSocket listen_at(const ProcessPlace& place);

/// The address in digits at which somebody listens at place.address and place.port. Waits for it until `deadline`.
/// Errors: kArgument for an address that cannot be resolved; kIo naming address, port and the system's reason once the
/// deadline is over.
std::string reach(const ProcessPlace& place, Deadline deadline);

/// Throws kArgument unless `name` is a network interface of this machine, and names those it has.
void check_interface(const std::string& name);

}  // namespace weft::training
