// SPDX-License-Identifier: Apache-2.0
// What LibTorch throws where a GPU's memory does not suffice, in words of Weft's.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// Of LibTorch's message, "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of
/// which 1.20 GiB is free. ...", one line with the three sizes; of what CUDA and cuBLAS say where they allocate by
/// themselves, a line without. Empty where `message` is about something else.
std::string missing_gpu_memory(std::string_view message);

}  // namespace weft
