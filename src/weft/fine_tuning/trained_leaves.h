// SPDX-License-Identifier: Apache-2.0
// Which parameters of an encoder the loss of its head reaches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/models/encoder_model.h"

namespace weft::fine_tuning {

/// Named parameters without those of a pooler that came with the file and that the head does not read: it gets no
/// gradient.
std::vector<std::pair<std::string, at::Tensor>> trained_leaves(const models::EncoderModelImpl& model);

}  // namespace weft::fine_tuning
