// SPDX-License-Identifier: Apache-2.0
// What a process must have before it runs the command line: variables that libraries read when they are loaded, and
// streams that can be written to.
#pragma once

#include <cstdlib>

#include "weft/core/system/message_output.h"

namespace weft::cli {

// Pages of 2 MB for tensors that fill them, unless the environment says otherwise: activations are made and dropped all
// the time, and with pages of 4 kB the kernel's clearing and mapping is a fifth of a training step. LibTorch's
// allocator reads this once, with its first large tensor.
inline void use_large_pages() { ::setenv("THP_MEM_ALLOC_ENABLE", "1", 0); }

// OpenMP's threads wait for each other in a loop for milliseconds before they sleep. Where other programs run, a thread
// waits so for one that has no core: with two busy neighbours on two cores training took 1.9 times as long and a server
// of texts of mixed lengths did not come to an end. Libgomp reads this when it is loaded, with libweft; 30,000 turns
// are less than a millisecond. With fewer, threads sleep between the requests of a client, and waking them costs more
// than they save.
inline void wait_briefly() { ::setenv("GOMP_SPINCOUNT", "30000", 0); }

/// The first call of main(), before any thread is there. What the environment says already is kept.
inline void prepare_process() {
  use_large_pages();
  wait_briefly();
  hold_closed_streams();
  ignore_file_size_signal();
}

}  // namespace weft::cli
