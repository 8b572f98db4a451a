// SPDX-License-Identifier: Apache-2.0
// What a directory says of its model, for people: facts of config.json and the text of README.md.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "weft/formats/config_json.h"
#include "weft/server/router.h"

namespace weft::page {

/// An object of the facts that are known: the text is that of `directory`, and the facts are those of `model`, the
/// folder with the weights (the same, or one below it), and of `config`, its config.json. Files that are not there, are
/// too long, or do not say what they should are passed over: the model has been opened by those who check them.
formats::Json model_card(const std::filesystem::path& directory, const std::filesystem::path& model,
                         const formats::Json& config);

/// GET /v1/models/NAME: the card of each model.
void add_card_routes(server::Router& router, const std::map<std::string, formats::Json>& cards);

}  // namespace weft::page
