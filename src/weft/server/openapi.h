// SPDX-License-Identifier: Apache-2.0
// The description of a server for programs that make clients: OpenAPI 3.1, generated from the router.
#pragma once

#include "weft/formats/config_json.h"
#include "weft/server/router.h"

namespace weft::server {

/// Every route of `router` with its operation, its errors, and, where the server asks for `keys`, the key.
formats::Json openapi(const Router& router, bool keys);

}  // namespace weft::server
