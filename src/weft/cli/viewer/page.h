// SPDX-License-Identifier: Apache-2.0
// The attention of a model on one text as one page of HTML that needs no other file: its script and its data are in it.
#pragma once

#include <string>

#include "weft/tasks/viewer/attention_view.h"

namespace weft::cli {

/// `model` is what the page says it shows. Cells are sent as bytes, a power of two with 254 steps: the page is for
/// looking. Rows are sent as float32 and exact.
std::string attention_page(const tasks::AttentionView& view, const std::string& model);

/// Bytes that the page's rows take before they are compressed, for each key listed in a row.
std::int64_t bytes_of_rows(const tasks::AttentionView& view);

}  // namespace weft::cli
