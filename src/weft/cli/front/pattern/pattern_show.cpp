// SPDX-License-Identifier: Apache-2.0
// `weft pattern show`: a pattern drawn in the terminal, as SVG or as PNG, with its edges, density and blocks.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/pattern/pattern_site.h"
#include "weft/cli/front/printing/visible_output.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/inspect/picture/canvas.h"
#include "weft/inspect/picture/terminal.h"
#include "weft/page/figures_json.h"
#include "weft/pattern/pattern.h"

namespace weft::cli {
namespace {

constexpr std::string_view kShowExamples =
    "  weft pattern show 'causal & (window(left=256) | global(4))' --length 4096\n"
    "  weft pattern show 'heads(strided(16), fixed(16, 2))' --length 64 --heads 2 --png figure.png\n"
    "  weft pattern show 'window(128) | global(input)' --length 2048 --input 0,700 --zoom 600:800 --svg figure.svg\n"
    "  weft pattern show 'block(64, window(3))' --length 4096 --json";

/// A square picture of at most this many cells is a figure that prints well.
constexpr std::int64_t kFigureCells = 256;

/// Everything that `show` takes besides the expression.
struct ShowConfig {
  std::int64_t length = 0;
  std::int64_t key_length = 0;
  std::int64_t offset = 0;
  std::int64_t heads = 1;
  std::int64_t head = -1;
  std::int64_t layer = 0;
  std::int64_t max_length = 0;
  std::string input;
  std::string zoom;
  std::string svg;
  std::string png;
  std::string style = "auto";
  std::int64_t width = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ShowConfig;
    visit(Field{"length", &C::length, "number of queries, and of keys unless --key-length is given"}.range(
        1, kLongestSite));
    visit(Field{"key_length", &C::key_length, "number of keys; 0 for --length plus --offset"}.range(0, kLongestSite));
    visit(Field{"offset", &C::offset,
                "position of the first query, as when tokens are decoded from a cache; keys begin at position 0"}
              .range(0, kLongestSite));
    visit(Field{"heads", &C::heads, "attention heads of the layer"}.range(1, 4096));
    visit(
        Field{"head", &C::head, "draw this head only, counted from 0; -1 draws every head that differs from the others"}
            .range(-1, 4095));
    visit(layer_field<C>());
    visit(max_length_field<C>());
    visit(input_field<C>());
    visit(Field{"zoom", &C::zoom, "A:B draws only the queries and keys from position A up to, not including, B"});
    visit(Field{"svg", &C::svg, "write the figure to this SVG file"});
    visit(Field{"png", &C::png, "write the figure to this PNG file"});
    visit(
        Field{"style", &C::style, "how the picture is drawn in the terminal; auto looks at the terminal and the locale"}
            .one_of({"auto", "colour", "unicode", "ascii"}));
    visit(Field{"width", &C::width, "columns of the picture in the terminal; 0 for the width of the terminal"}.range(
        0, 1000));
  }
};

struct ShowOptions {
  std::string expression;
  formats::Json given = formats::Json::object();
  bool json = false;
};

std::optional<inspect::TokenRange> zoom_range(const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> ends = number_list("--zoom", text, ':');
  if (ends.size() != 2 || ends[0] < 0 || ends[0] >= ends[1]) {
    throw UsageError("--zoom expects A:B with A below B, found " + quote(text));
  }
  return inspect::TokenRange{ends[0], ends[1]};
}

// "auto" asks terminal and locale; a style that is named holds even where stdout is a pipe.
inspect::TerminalStyle chosen_style(const std::string& name) {
  if (name == "auto") {
    return terminal_style();
  }
  return name == "colour"    ? inspect::TerminalStyle::kColour
         : name == "unicode" ? inspect::TerminalStyle::kUnicode
                             : inspect::TerminalStyle::kAscii;
}

/// What is drawn for a config whose fields are known to be in range, cells aside.
inspect::PictureRequest request_for(const ShowConfig& config, const std::vector<std::int64_t>& input) {
  inspect::PictureRequest request;
  request.site.query_length = config.length;
  request.site.key_length = config.key_length > 0 ? config.key_length : config.length + config.offset;
  request.site.query_offset = config.offset;
  request.site.heads = config.heads;
  request.site.layer = config.layer;
  request.site.maximum_length = config.max_length;
  request.site.input = input;
  request.zoom = zoom_range(config.zoom);
  if (config.head >= 0) {
    request.head = config.head;
  }
  return request;
}

void write_figures(const inspect::Picture& picture, const ShowConfig& config) {
  if (!config.svg.empty()) {
    write_file_atomically(config.svg, svg_picture(picture));
  }
  if (!config.png.empty()) {
    write_file_atomically(config.png, png_picture(picture));
  }
}

void show(const ShowOptions& options) {
  ShowConfig config;
  if (!options.given.contains("length")) {
    throw UsageError("weft pattern show needs --length N", "for example: weft pattern show 'window(8)' --length 64");
  }
  formats::update_from_json(config, options.given, "weft pattern show");
  require_head(config.head, config.heads);
  const pattern::Pattern pattern = pattern::Pattern::parse(options.expression);
  std::vector<std::int64_t> input = number_list("--input", config.input, ',');
  std::sort(input.begin(), input.end());
  require_input({&pattern, 1}, input);
  inspect::PictureRequest request = request_for(config, input);
  const std::int64_t positions = std::max(request.site.query_length, request.site.key_length);
  if (request.zoom && request.zoom->begin >= positions) {
    throw UsageError(concat("--zoom ", config.zoom, " begins behind the last of ", positions, " positions"),
                     concat("for example: --zoom 0:", std::min<std::int64_t>(positions, 64)));
  }
  // Figures go to files, their paths to stdout; the terminal picture is for a call that names no file.
  check_picture_files(config.svg, config.png);
  const bool writes = !config.svg.empty() || !config.png.empty();
  const inspect::TerminalStyle style = chosen_style(config.style);
  request.maximum_cells =
      writes ? kFigureCells : cells_in_width(config.width > 0 ? config.width : terminal_width(), style);
  const inspect::Picture picture = inspect::make_picture(pattern, request);
  write_figures(picture, config);
  if (options.json) {
    print_json(page::picture_json(picture));
  } else if (!writes) {
    print_as_it_is(terminal_picture(picture, style));
  } else {
    std::cout << (config.svg.empty() ? "" : config.svg + "\n") << (config.png.empty() ? "" : config.png + "\n");
  }
}

}  // namespace

void add_pattern_show(CLI::App& parent) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App& app = add_command(parent, "show", "draw a pattern in the terminal, or as SVG or PNG, and count its edges",
                              std::string(kShowExamples));
  app.add_option("EXPRESSION", options->expression, "a pattern, as docs/pattern-language.md explains")->required();
  add_fields<ShowConfig>(app, {.title = "Options"}, options->given);
  add_json_flag(app, options->json);
  app.callback([options] { show(*options); });
}

}  // namespace weft::cli
