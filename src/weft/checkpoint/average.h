// SPDX-License-Identifier: Apache-2.0
// The mean of several models of one shape (Vaswani et al. 2017, section 6.1: the last checkpoints of a run): weights
// that differ by the noise of the last steps only.
#pragma once

#include <filesystem>
#include <span>

namespace weft::checkpoint {

/// Makes the model directory `out`: the config, tokeniser and other files of the first of `directories`, and the mean
/// of every tensor of all of them, summed in float64. Whole or not at all. Tensors of whole numbers and random features
/// must be equal. Errors: kArgument for no directory, and for one whose config or tensors have not the names, shapes
/// and values that they must share with the first, naming both; kIo; kFormat.
void average_models(std::span<const std::filesystem::path> directories, const std::filesystem::path& out);

}  // namespace weft::checkpoint
