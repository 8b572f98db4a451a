// SPDX-License-Identifier: Apache-2.0
// HTML of a page that holds text from elsewhere: labels, texts and paths of a run can neither add an element nor turn
// round what stands beside them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/output.h"

namespace weft::cli {

/// `text` for an element or an attribute in quotes: & < > " ' as entities; control characters and bytes that are no
/// UTF-8 become U+FFFD.
std::string html_text(std::string_view text);

/// html_text() in <bdi>, so that text of either direction stays within itself.
std::string html_quote(std::string_view text);

/// <section> with a heading, or nothing around nothing.
std::string html_section(const std::string& title, const std::string& content);

/// Names and values as a table of two columns; nothing without rows.
std::string html_rows(const Rows& rows);

/// A table with a line of headings. Cells are HTML, headings are text; it scrolls where the window is too narrow.
std::string html_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows);

/// The page's style: light and dark, wide and narrow.
std::string_view page_style();

}  // namespace weft::cli
