// SPDX-License-Identifier: Apache-2.0
// What /openapi.json says about a route. It stands beside the handler in the router, so that neither comes without the
// other.
#pragma once

#include <string>

#include "weft/formats/config_json.h"

namespace weft::server {

struct Operation {
  std::string summary;             ///< one line: what the route does; empty: no part of the API, not described
  formats::Json body = nullptr;    ///< JSON Schema of the request's body; null: there is none, and nothing is computed
  formats::Json answer = nullptr;  ///< JSON Schema of the answer; null: it is no JSON, or always an error
  std::string type = "application/json";  ///< of the answer
  formats::Json piece = nullptr;          ///< JSON Schema of an event of the answer, where it may come in pieces
  int status = 200;                       ///< of the answer when all is well
  std::string not_found = {};             ///< when it is 404 though the path has a route; empty: never
};

}  // namespace weft::server
