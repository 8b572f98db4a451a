// SPDX-License-Identifier: Apache-2.0
// Processes over c10d's Gloo backend: sums over TCP, on one machine or many.
#pragma once

#include <memory>

#include "weft/training/processes/environment.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {

/// Meets the others, within place.patience. The network interface is that of GLOO_SOCKET_IFNAME, else that of the
/// machine's name. Errors: kArgument for an interface or address that is none, and where processes were told different
/// sizes; kIo.
std::unique_ptr<ProcessGroup> make_gloo_group(const ProcessPlace& place);

}  // namespace weft::training
