// SPDX-License-Identifier: Apache-2.0
// The first thing that processes do when they meet in a store: they find out whether they belong to one run, and under
// which keys it writes. Other programs can reach the store, too.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "weft/training/processes/environment.h"

namespace weft::training {

/// Joins the run whose first process writes "weft/<round>/run" into `store`: its number of processes, and a random
/// token. Returns the store of that run alone: all its keys begin with the token, so that what another program or
/// another run writes does not touch them. Waits as long as the store's timeout for the first process. Errors:
/// kArgument when this process was told another WORLD_SIZE than the first, which the others then learn; kIo when the
/// first process does not come, when a process of this rank has come already, and when what it finds there is not
/// Weft's.
c10::intrusive_ptr<c10d::Store> join_run(const c10::intrusive_ptr<c10d::Store>& store, const ProcessPlace& place);

/// Removes what the first process wrote, so that a run that follows in the same store finds nothing old.
void leave_run(const c10::intrusive_ptr<c10d::Store>& store, const ProcessPlace& place);

/// The key under which process `rank` says why it failed.
std::string failure_key(std::int64_t rank);

}  // namespace weft::training
