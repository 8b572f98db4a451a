// SPDX-License-Identifier: Apache-2.0
// The data of the page as JSON inside a script element, numbers compressed; viewer.js reads it.
#include "weft/cli/viewer/page.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <string_view>

#include "weft/cli/report/html.h"
#include "weft/cli/viewer/assets.h"
#include "weft/formats/config_json.h"
#include "weft/formats/packed_text.h"

namespace weft::cli {
namespace {

using formats::Json;

/// Powers of two that the codes 1 to 255 of a cell stand for; 0 is a cell without edges.
struct CodeScale {
  double low;
  double high;
};
constexpr CodeScale kMeanScale = {-16.0, 16.0};    // times the even share of a row
constexpr CodeScale kLargestScale = {-24.0, 0.0};  // a probability
constexpr double kSteps = 254.0;

std::string packed(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  const auto* const bytes = static_cast<const char*>(plain.const_data_ptr());
  return formats::base64(formats::zlib_compressed({bytes, static_cast<std::size_t>(plain.nbytes())}));
}

at::Tensor codes_of(const at::Tensor& values, const at::Tensor& edges, const CodeScale& scale) {
  const at::Tensor place = (values.log2() - scale.low) / (scale.high - scale.low) * kSteps + 1.0;
  const at::Tensor codes = place.nan_to_num(1.0, kSteps + 1.0, 1.0).round().clamp(1.0, kSteps + 1.0);
  return at::where(edges > 0, codes, 0.0).to(at::kByte);
}

Json head_json(const tasks::ViewedHead& head) {
  const attention::HeadPicture& picture = head.picture;
  // Keys that a row of the cell sees, on the average: 1 over it is the even share.
  const at::Tensor even = picture.mean * picture.edges.sum(1, true) /
                          (picture.top_weight.size(0) / static_cast<double>(picture.mean.size(0)));
  return {{"head", head.number},
          {"mean", packed(codes_of(even, picture.edges, kMeanScale))},
          {"largest", packed(codes_of(picture.largest, picture.edges, kLargestScale))},
          {"key", packed(picture.key.to(at::kFloat))},
          {"top_key", packed(picture.top_key.to(at::kInt))},
          {"top_weight", packed(picture.top_weight)}};
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
    json["heads"].push_back(head_json(head));
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

// What rows take before they are compressed.
std::int64_t bytes_of_rows(const tasks::AttentionView& view) {
  std::int64_t bytes = 0;
  for (const tasks::ViewedPart& part : view.parts) {
    for (const tasks::ViewedHead& head : part.heads) {
      bytes += head.picture.top_key.numel() * 8;
    }
  }
  return bytes;
}

constexpr std::string_view kControls =
    "<fieldset><label>Cells show <select id=\"measure\"><option value=\"mean\">the mean, in shares of an even row"
    "</option><option value=\"largest\">the largest weight</option></select></label>"
    "<label><input type=\"checkbox\" id=\"sinks\"> hide sinks</label>"
    "<label>row <input type=\"number\" id=\"position\" min=\"0\" value=\"0\"></label></fieldset>";

}  // namespace

Json attention_data(const tasks::AttentionView& view) {
  Json data = {{"texts", {{"source", text_json(view.source)}, {"target", text_json(view.target)}}},
               {"scales",
                {{"mean", {{"low", kMeanScale.low}, {"high", kMeanScale.high}}},
                 {"largest", {{"low", kLargestScale.low}, {"high", kLargestScale.high}}}}},
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

std::string attention_page(const tasks::AttentionView& view, const std::string& model) {
  const Json data = attention_data(view);
  std::string unseen;
  for (const Json& reason : data["unseen"]) {
    unseen += "<p class=\"note\">" + html_text(reason.get<std::string>()) + "</p>\n";
  }
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>Attention of " +
      html_text(model) + "</title>\n<style>" + std::string(page_style()) + std::string(viewer_style()) +
      "</style></head>\n<body><h1>Attention of " + html_quote(model) + "</h1>\n" + unseen;
  page += "<div id=\"grid\" role=\"group\" aria-label=\"heads\"></div>\n<p id=\"about\" aria-live=\"polite\"></p>\n" +
          std::string(kControls) +
          "<div id=\"head\"><div><canvas id=\"large\" tabindex=\"0\" role=\"img\" aria-label=\"queries from top to "
          "bottom, keys from left to right; arrow keys choose a row\"></canvas><p id=\"cell\"></p></div>"
          "<div id=\"row\" aria-live=\"polite\"></div></div>\n";
  page += "<script type=\"application/json\" id=\"data\">" + script_text(data) + "</script>\n<script>" +
          std::string(viewer_script()) + "</script></body></html>\n";
  return page;
}

std::int64_t leave_out_heavy_rows(tasks::AttentionView& view, std::int64_t most) {
  const std::int64_t bytes = bytes_of_rows(view);
  if (bytes <= most) {
    return 0;
  }
  for (tasks::ViewedPart& part : view.parts) {
    for (tasks::ViewedHead& head : part.heads) {
      head.picture.top_key = head.picture.top_key.narrow(1, 0, 0);
      head.picture.top_weight = head.picture.top_weight.narrow(1, 0, 0);
    }
  }
  return bytes;
}

}  // namespace weft::cli
