// SPDX-License-Identifier: Apache-2.0
// A mechanism's own file knows its settings.
#include "weft/attention/mechanisms/caution.h"

#include "weft/attention/mechanisms/rfa/rfa_attention.h"

namespace weft::attention {

std::string caution_of(const MechanismSpec& spec) {
  return spec.name == "rfa" ? rfa_caution(spec.description) : std::string();
}

}  // namespace weft::attention
