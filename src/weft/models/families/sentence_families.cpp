// SPDX-License-Identifier: Apache-2.0
// Asked of the rules, so that a new family is there by itself.
#include "weft/models/families/sentence_families.h"

#include "weft/models/families/encoder_rules.h"

namespace weft::models {

std::string families_with_sentences() {
  std::string names;
  for (const Family* family : encoder_families()) {
    if (family->encoder->structure != nullptr) {
      names += names.empty() ? "" : ", ";
      names += family->name;
    }
  }
  return names;
}

}  // namespace weft::models
