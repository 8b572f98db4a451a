// SPDX-License-Identifier: Apache-2.0
// One table for all kinds of models.
#include "weft/cli/new_models/print_new_model.h"

#include <iostream>

#include "weft/cli/front/output.h"

namespace weft::cli {

formats::Json new_model_json(const std::filesystem::path& out, const checkpoint::NewModel& made) {
  formats::Json said = {{"out", out.native()},
                        {"family", made.family},
                        {"head", made.head},
                        {"parameters", made.parameters},
                        {"positions", made.positions}};
  if (made.int8) {
    said["weights"] = "int8";
  }
  return said;
}

void print_new_model(const std::filesystem::path& out, const checkpoint::NewModel& made, bool json) {
  if (json) {
    print_json(new_model_json(out, made));
    return;
  }
  Rows rows = {{"directory", out.native()},
               {"family", made.family},
               {"head", made.head},
               {"parameters", digits(made.parameters)},
               {"positions", digits(made.positions) + " tokens"}};
  if (made.int8) {
    rows.emplace_back("weights", "int8");
  }
  std::cout << name_table(rows);
}

}  // namespace weft::cli
