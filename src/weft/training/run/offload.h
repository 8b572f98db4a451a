// SPDX-License-Identifier: Apache-2.0
// Tensors in a file of a disk (the swap of Kitaev et al. 2020, section 3): parameters, gradients, the optimiser's state
// and activations, so that a model trains that is larger than the computer's memory.
#pragma once

#include <cstddef>
#include <filesystem>

namespace weft::training {

/// From now on, and until the process ends, every tensor of at least 128 KiB that is made on the CPU lies in a file
/// without a name in `directory`. Numbers stay what they are. Warns where the directory is in memory itself (tmpfs).
/// Errors: kIo where no file can be made there; kArgument when it is asked for twice.
void offload_tensors(const std::filesystem::path& directory);

/// Whether offload_tensors() was called.
bool is_offloading() noexcept;

/// Bytes of that file; 0 without one.
std::size_t offloaded_bytes();

}  // namespace weft::training
