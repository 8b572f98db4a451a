// SPDX-License-Identifier: Apache-2.0
// The page of `weft attention` from a server, for texts whose heads do not fit into one file: a head is drawn when a
// reader looks at it, and a part of it in smaller cells when he looks closer.
#pragma once

#include <memory>

#include "weft/server/router.h"
#include "weft/viewer/drawn_view.h"

namespace weft::viewer {

/// GET / with its script and style, GET /v1/view, and POST /v1/head, /v1/tile and /v1/row, which draw.
server::Router view_routes(std::shared_ptr<const ServedView> served);

/// Draws the head that the page shows first, so that nobody waits for it.
void draw_first_head(const ServedView& served);

}  // namespace weft::viewer
