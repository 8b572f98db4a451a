// SPDX-License-Identifier: Apache-2.0
// Cross-origin requests, by the CORS protocol of the Fetch standard: pages of --allowed-origins may read answers, and
// ask before (a preflight) whether they may send a request. No answer allows credentials, and without the flag none has
// a field of the protocol.
#pragma once

#include <string_view>

#include "weft/server/guards.h"
#include "weft/server/limits.h"
#include "weft/server/message.h"

namespace weft::server {

/// Throws kArgument for an allowed origin that no browser sends: one that is neither SCHEME://HOST[:PORT] nor null.
void check_origins(const ServerConfig& config);

/// Whether a request with this head asks whether another may be sent: OPTIONS with the two fields of a preflight, from
/// an allowed origin. It needs no key: browsers send none with it.
bool is_preflight(std::string_view method, const Head& head, const ServerConfig& config);

/// The fields of the protocol for the answer to a request with this head, whatever its status. Those of a preflight are
/// the same for every path, and allow the fields that it names.
Fields cross_origin_fields(std::string_view method, const Head& head, const ServerConfig& config);

}  // namespace weft::server
