// SPDX-License-Identifier: Apache-2.0
// The numbers of a head as the page reads them: cells as bytes, rows exact, all compressed.
#pragma once

#include "weft/attention/profile/head_picture.h"
#include "weft/formats/config_json.h"

namespace weft::viewer {

/// Powers of two that the codes 1 to 255 of a cell stand for, by measure; 0 is a cell without edges.
formats::Json cell_scales();

/// {"mean", "largest"}: the cells.
formats::Json cells_json(const attention::HeadPicture& picture);

/// The same, and "key": what each key is given.
formats::Json head_json(const attention::HeadPicture& picture);

/// The same, and "top_key" and "top_weight": all of a whole head.
formats::Json picture_json(const attention::HeadPicture& picture);

}  // namespace weft::viewer
