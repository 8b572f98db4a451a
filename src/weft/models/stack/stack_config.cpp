// SPDX-License-Identifier: Apache-2.0
// A config's mechanisms, read for the errors that they give.
#include "weft/models/stack/stack_config.h"

#include "weft/core/error.h"

namespace weft::models {
namespace {

void check_mechanism(const std::string& expression, const attention::MechanismSite& site, const std::string& where) {
  try {
    attention::at_site(attention::parse_mechanism(expression, site.directory), site);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(where, ": ", error.what()), error.hint());
  }
}

}  // namespace

void check_mechanisms(const StackConfig& config, std::string_view where) {
  for (const layers::BlockConfig& block : config.blocks) {
    check_mechanism(block.attention, layers::site_of(block), concat(where, ": attention of layer ", block.layer));
    if (!block.cross_attention.empty()) {
      check_mechanism(block.cross_attention, layers::cross_site_of(block),
                      concat(where, ": cross_attention of layer ", block.layer));
    }
  }
}

}  // namespace weft::models
