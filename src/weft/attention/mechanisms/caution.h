// SPDX-License-Identifier: Apache-2.0
// Settings that are allowed and rarely what is wanted, or that do nothing.
#pragma once

#include <string>

#include "weft/attention/mechanisms/spec.h"

namespace weft::attention {

/// What a user should know of the settings of `spec` and of its site before a model is trained with them, in one line;
/// empty where there is nothing to say.
std::string caution_of(const MechanismSpec& spec, const MechanismSite& site);

}  // namespace weft::attention
