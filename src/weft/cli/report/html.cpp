// SPDX-License-Identifier: Apache-2.0
// Escaping, tables and the style sheet.
#include "weft/cli/report/html.h"

#include "weft/core/utf8_sequence.h"

namespace weft::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string html_cell(const std::string& tag, const std::string& content) {
  return "<" + tag + ">" + content + "</" + tag + ">";
}

// An ASCII byte as text of a page.
std::string_view escaped(const char& byte) {
  switch (byte) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      break;
  }
  const bool control = (byte >= 0 && byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  return control ? kReplacement : std::string_view(&byte, 1);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    result += length == 1 ? escaped(text.front()) : length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string html_quote(std::string_view text) { return html_cell("bdi", html_text(text)); }

std::string html_section(const std::string& title, const std::string& content) {
  return content.empty() ? "" : "<section><h2>" + html_text(title) + "</h2>\n" + content + "</section>\n";
}

std::string html_rows(const Rows& rows) {
  std::string table = "<div class=\"wide\"><table class=\"rows\">\n";
  for (const auto& [name, value] : rows) {
    table += "<tr><th scope=\"row\">" + html_text(name) + "</th>" + html_cell("td", html_quote(value)) + "</tr>\n";
  }
  return rows.empty() ? "" : table + "</table></div>\n";
}

std::string html_table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  std::string table = "<div class=\"wide\"><table>\n<tr>";
  for (const std::string& heading : headings) {
    table += "<th scope=\"col\">" + html_text(heading) + "</th>";
  }
  table += "</tr>\n";
  for (const std::vector<std::string>& row : rows) {
    table += "<tr>";
    for (const std::string& cell : row) {
      table += html_cell("td", cell);
    }
    table += "</tr>\n";
  }
  return table + "</table></div>\n";
}

std::string_view page_style() {
  return ":root{color-scheme:light "
         "dark;--ink:#222;--soft:#666;--line:#ddd;--ground:#fff;--panel:#f5f6f8;--good:46,139,87;"
         "--bad:209,73,91}"
         "@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--soft:#9aa0aa;--line:#3a3f47;--ground:#16181c;"
         "--panel:#22262c}}"
         "body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:var(--ink);"
         "background:var(--ground)}"
         "h1{font-size:1.5em;overflow-wrap:anywhere}h2{font-size:1.15em;margin-top:2em;"
         "border-bottom:1px solid var(--line)}h3{font-size:1em;margin-bottom:.3em}"
         ".wide{overflow-x:auto}table{border-collapse:collapse}"
         "th,td{padding:.15em 1.2em .15em 0;vertical-align:top;text-align:left}"
         "th{color:var(--soft);font-weight:normal}.rows th{white-space:nowrap}.rows td{overflow-wrap:anywhere}"
         ".examples td{padding-bottom:.5em;overflow-wrap:anywhere;min-width:7em}.examples "
         "td:first-child{min-width:13em}"
         ".confusion td,.confusion th{padding:.3em .7em;text-align:right;border:1px solid var(--line)}"
         ".confusion th{max-width:12em;overflow-wrap:break-word}"
         ".charts{display:grid;gap:1em;grid-template-columns:repeat(auto-fit,minmax(min(100%,26em),1fr))}"
         "svg{width:100%;height:auto}svg .grid{stroke:var(--line)}svg text{fill:var(--ink)}svg .tick{fill:var(--soft)}"
         "img{max-width:100%;height:auto;background:#fff;border-radius:4px}"
         "pre{background:var(--panel);padding:.8em;white-space:pre-wrap;overflow-wrap:anywhere}"
         "summary{cursor:pointer;color:var(--soft)}p.note{color:var(--soft);margin:.3em 0}";
}

}  // namespace weft::cli
