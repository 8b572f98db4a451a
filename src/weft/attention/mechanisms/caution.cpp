// SPDX-License-Identifier: Apache-2.0
// A mechanism's own file knows its settings.
#include "weft/attention/mechanisms/caution.h"

#include "weft/attention/mechanisms/rfa/rfa_attention.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

std::string dropout_caution(const MechanismSpec& spec, const MechanismSite& site) {
  if (spec.has_probabilities || site.dropout == 0) {
    return {};
  }
  return concat("`", spec.name, "` computes no attention probabilities, so that dropout of ", site.dropout,
                " on them does nothing");
}

}  // namespace

std::string caution_of(const MechanismSpec& spec, const MechanismSite& site) {
  const std::string settings = spec.name == "rfa" ? rfa_caution(spec.description) : std::string();
  const std::string dropout = dropout_caution(spec, site);
  return concat(settings, settings.empty() || dropout.empty() ? "" : "; ", dropout);
}

}  // namespace weft::attention
