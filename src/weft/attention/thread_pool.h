// SPDX-License-Identifier: Apache-2.0
// LibTorch's threads behind the interface that kernels take. It is parallel only in files built with OpenMP, which the
// tests assert: without it at::parallel_for runs serially and says nothing.
#pragma once

#include <ATen/Parallel.h>

#include "weft/core/parallel.h"

namespace weft::attention {

/// Follows at::get_num_threads().
inline constexpr ParallelFor kTorchThreads{
    [](std::int64_t count, std::int64_t grain, ParallelFor::Body body, void* context) {
      at::parallel_for(0, count, grain,
                       [body, context](std::int64_t begin, std::int64_t end) { body(context, begin, end); });
    },
    [] { return std::int64_t{at::get_num_threads()}; }};

}  // namespace weft::attention
