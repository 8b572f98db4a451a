// SPDX-License-Identifier: Apache-2.0
// The page of `weft attention` from a server, for texts whose heads do not fit into one file: a head is drawn when a
// reader looks at it, and a part of it in smaller cells when he looks closer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/server/router.h"
#include "weft/tasks/viewer/attention_view.h"

namespace weft::cli {

/// One text as a model has read it.
struct ServedView {
  tasks::AttentionView view;                   ///< its heads have no pictures
  std::shared_ptr<tasks::KeptAttention> kept;  ///< what they are drawn from
  std::string model;                           ///< what the page says it shows
  std::int64_t cells = 256;                    ///< of a picture on each side
  std::int64_t top = 8;                        ///< keys to list for each row
};

/// GET / with its script and style, GET /v1/view, and POST /v1/head and /v1/tile, which draw.
server::Router view_routes(std::shared_ptr<const ServedView> served);

}  // namespace weft::cli
