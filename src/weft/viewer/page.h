// SPDX-License-Identifier: Apache-2.0
// The attention of a model on one text as one page of HTML that needs no other file: its script and its data are in it;
// or as the page of a server, which sends them.
#pragma once

#include <string>

#include "weft/formats/config_json.h"
#include "weft/tasks/viewer/attention_view.h"

namespace weft::viewer {

/// `model` is what the page says it shows. Cells are sent as bytes, a power of two with 254 steps: the page is for
/// looking. Rows are sent as float32 and exact.
std::string attention_page(const tasks::AttentionView& view, const std::string& model);

/// The same page without its data, script and style, which it asks its server for. `unseen` is that of
/// attention_data().
std::string served_page(const formats::Json& unseen, const std::string& model);

/// What the script of the page shows, viewer.js; "unseen" has a line for each part without weights.
formats::Json attention_data(const tasks::AttentionView& view);

}  // namespace weft::viewer
