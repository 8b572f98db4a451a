// SPDX-License-Identifier: Apache-2.0
// One table for all kinds of models.
#include "weft/cli/new_models/print_new_model.h"

#include <iostream>

#include "weft/cli/front/output.h"

namespace weft::cli {

void print_new_model(const std::filesystem::path& out, const checkpoint::NewModel& made, bool json) {
  if (json) {
    print_json({{"out", out.native()},
                {"family", made.family},
                {"head", made.head},
                {"parameters", made.parameters},
                {"positions", made.positions}});
    return;
  }
  std::cout << name_table({{"directory", out.native()},
                           {"family", made.family},
                           {"head", made.head},
                           {"parameters", digits(made.parameters)},
                           {"positions", digits(made.positions) + " tokens"}});
}

}  // namespace weft::cli
