// SPDX-License-Identifier: Apache-2.0
// PyTorch's threads behind the interface that kernels take.
#pragma once

#include "weft/core/parallel.h"

namespace weft::python {

/// Follows torch.get_num_threads(). In the child of a process that had threads when it forked it is the calling thread
/// alone: OpenMP's threads are not there any more, and waiting for them would not end.
const ParallelFor& threads();

}  // namespace weft::python
