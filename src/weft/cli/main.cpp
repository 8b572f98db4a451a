// SPDX-License-Identifier: Apache-2.0
// The program `weft`: what needs no tensors is in libweft_core, the rest in libweft, which run() opens where a command
// needs it.
#include <cstdlib>

#include "weft/cli/run.h"

namespace {

// Pages of 2 MB for tensors that fill them, unless the environment says otherwise: activations are made and dropped all
// the time, and with pages of 4 kB the kernel's clearing and mapping is a fifth of a training step. LibTorch's
// allocator reads this once, with its first large tensor.
void use_large_pages() { ::setenv("THP_MEM_ALLOC_ENABLE", "1", 0); }

}  // namespace

int main(int count, char** arguments) {
  use_large_pages();
  return weft::cli::run(count, arguments);
}
