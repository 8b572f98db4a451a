// SPDX-License-Identifier: Apache-2.0
// The server: connections on one thread, models on another, work without a model on a third. It stops at SIGINT and
// SIGTERM, once the requests that it has are answered.
#pragma once

#include <functional>
#include <string>

#include "weft/server/limits.h"
#include "weft/server/router.h"

namespace weft::server {

/// Serves `router` with /health, /ready and /metrics beside it until a signal says to stop; `figures` are lines for
/// /metrics. Work is computed on the calling thread, unless it is light. `listening` is called with
/// "http://127.0.0.1:4321" or "unix:PATH" once connections are accepted. Errors: kIo for an address that cannot be had,
/// a file of keys that cannot be read.
void run_server(const ServerConfig& config, Router router, const std::function<void(const std::string&)>& listening,
                const std::string& figures = {});

}  // namespace weft::server
