// SPDX-License-Identifier: Apache-2.0
// The heap in pages of 2 MiB for who is about to make very many small objects: LibTorch's operators take 50 MB of them
// when it is opened, one page of 4 KiB after another.
#pragma once

#include <cstddef>

namespace weft {

/// Makes room in the heap of malloc(3), and asks the system for pages of 2 MiB there, which are made when they are
/// touched. malloc's own thresholds become those that it comes to by itself when a program frees 30 MB at once: from
/// then on it keeps up to 64 MB at the heap's end. Nothing where the variable THP_MEM_ALLOC_ENABLE is not 1 or
/// there is no memory; another malloc than glibc's is not changed. Bytes that large pages were asked for.
std::size_t prepare_large_heap() noexcept;

}  // namespace weft
