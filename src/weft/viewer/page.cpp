// SPDX-License-Identifier: Apache-2.0
// The data of the page as JSON inside a script element, numbers compressed; viewer.js reads it.
#include "weft/viewer/page.h"

#include <string_view>

#include "weft/core/work/pieces.h"
#include "weft/formats/config_json.h"
#include "weft/page/viewer_files.h"
#include "weft/report/html.h"
#include "weft/viewer/cell_codes.h"

namespace weft::viewer {
namespace {

using formats::Json;

Json viewed_head_json(const tasks::ViewedHead& head) {
  Json json = picture_json(head.picture);
  json["head"] = head.number;
  return json;
}

Json part_json(const tasks::ViewedPart& part) {
  const attention::HeadPicture& first = part.heads.front().picture;
  Json json = {{"name", part.name},
               {"expression", part.expression},
               {"query_text", part.from_target ? "target" : "source"},
               {"key_text", part.to_target ? "target" : "source"},
               {"all_heads", part.all_heads},
               {"cell", part.cell},
               {"queries", first.top_key.size(0)},
               {"keys", first.key.size(0)},
               {"rows", first.mean.size(0)},
               {"columns", first.mean.size(1)},
               {"top", first.top_key.size(1)},
               {"heads", Json::array()}};
  for (const tasks::ViewedHead& head : part.heads) {
    json["heads"].push_back(viewed_head_json(head));
    end_piece();
  }
  return json;
}

Json text_json(const tasks::ViewedText& text) { return {{"tokens", text.tokens}, {"separator", text.separator}}; }

// Nothing in it ends the script element or begins a comment.
std::string script_text(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    result += letter == '<' ? "\\u003c" : std::string_view(&letter, 1);
  }
  return result;
}

constexpr std::string_view kHowToRead =
    "<p class=\"soft\">Each small picture is a head: one of the places that a layer can look at side by side. A row is "
    "a "
    "token that looks (a query), a column one that is looked at (a key). The colour is strong where much attention "
    "goes, "
    "and each picture has its own scale. Choose one to see it large.</p>\n";

constexpr std::string_view kControls =
    "<fieldset><legend class=\"unseen\">How it is shown</legend><label>Colours show <select id=\"measure\"><option "
    "value=\"mean\">the average of a cell</option><option value=\"largest\">the strongest of a "
    "cell</option></select></label><label title=\"Keys that nearly all rows look at, whatever they say. Beside them "
    "all "
    "else is faint.\"><input type=\"checkbox\" id=\"sinks\"> hide keys that get most of all attention (sinks)</label>"
    "<label>Row <input type=\"number\" id=\"position\" min=\"0\" value=\"0\"></label></fieldset>";

}  // namespace

Json attention_data(const tasks::AttentionView& view) {
  Json data = {{"texts", {{"source", text_json(view.source)}, {"target", text_json(view.target)}}},
               {"scales", cell_scales()},
               {"parts", Json::array()},
               {"unseen", Json::array()}};
  for (const tasks::ViewedPart& part : view.parts) {
    if (part.heads.empty()) {
      data["unseen"].push_back(part.name + " (" + part.expression + ") is not shown: " +
                               (part.reason.empty() ? "it was not computed for this text" : part.reason));
    } else {
      data["parts"].push_back(part_json(part));
    }
  }
  return data;
}

namespace {

// Everything up to the scripts; `style` is what stands in the head for it.
std::string page_beginning(const Json& unseen, const std::string& model, const std::string& style) {
  std::string lines;
  for (const Json& reason : unseen) {
    lines += "<p class=\"soft\">" + report::html_text(reason.get<std::string>()) + "</p>\n";
  }
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
         "content=\"light dark\"><title>Attention of " +
         report::html_text(model) + "</title>\n" + style + "</head>\n<body><main><h1>Attention of " +
         report::html_quote(model) + "</h1>\n" + lines + std::string(kHowToRead) +
         "<div id=\"grid\" role=\"group\" aria-label=\"heads\"></div>\n<p id=\"about\" aria-live=\"polite\"></p>\n" +
         std::string(kControls) +
         "<div id=\"head\"><div><canvas id=\"large\" tabindex=\"0\" role=\"img\" aria-label=\"queries from top to "
         "bottom, keys from left to right; arrow keys choose a row\"></canvas><p id=\"cell\"></p></div>"
         "<div id=\"row\" aria-live=\"polite\"></div></div>\n";
}

}  // namespace

std::string attention_page(const tasks::AttentionView& view, const std::string& model) {
  const Json data = attention_data(view);
  return page_beginning(data["unseen"], model,
                        "<style>" + std::string(page::base_style()) + std::string(page::viewer_style()) + "</style>") +
         "</main><script type=\"application/json\" id=\"data\">" + script_text(data) + "</script>\n<script>" +
         std::string(page::viewer_script()) + "</script></body></html>\n";
}

std::string served_page(const Json& unseen, const std::string& model) {
  return page_beginning(unseen, model,
                        "<link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/viewer.css\">") +
         "<p id=\"served\" class=\"soft\" aria-live=\"polite\"></p></main><script "
         "src=\"/viewer.js\"></script></body></html>\n";
}

}  // namespace weft::viewer
