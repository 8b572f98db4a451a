// SPDX-License-Identifier: Apache-2.0
// `weft attention`: where a model looks while it reads one text, as a page to look at, in a file or from a server.
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/cli/tasks/text_input.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/number.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/server/server.h"
#include "weft/tasks/viewer/row_lists.h"
#include "weft/tasks/viewer/view_directory.h"
#include "weft/training/run/run_of_model.h"
#include "weft/viewer/figure.h"
#include "weft/viewer/page.h"
#include "weft/viewer/served_view.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kAttentionExamples =
    "  weft attention run 'The loom weaves the thread.'\n"
    "  weft attention bert-base-uncased --file chapter.txt --layers 0 11 --out chapter.html\n"
    "  weft attention longformer --file book.txt --serve\n"
    "  weft attention de-en 'Der Hund schläft.' 'The dog sleeps.' --png figure.png";

/// What a page may weigh: browsers open more, but slowly.
constexpr std::int64_t kMostRowBytes = std::int64_t{64} << 20;

struct AttentionPageConfig {
  std::string out = "attention.html";
  std::string svg;
  std::string png;
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> heads;
  std::int64_t cells = 256;
  std::int64_t top = 8;
  std::string dtype = "run";

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = AttentionPageConfig;
    visit(Field{"out", &C::out, "page to write"});
    visit(Field{"svg", &C::svg, "write the heads as a figure to this SVG file, too"});
    visit(Field{"png", &C::png, "write the heads as a figure to this PNG file, too"});
    visit(Field{"layers", &C::layers, "layers to show, counted from 0; without it all"});
    visit(Field{"heads", &C::heads, "heads of each layer to show, counted from 0; without it all"});
    visit(
        Field{"cells", &C::cells, "cells of a picture on each side, at most; longer texts have cells of several tokens"}
            .range(1, 1024));
    visit(Field{"top", &C::top, "keys to list for each row, the strongest first; 0 for none"}.range(0, 1024));
    visit(Field{"dtype", &C::dtype,
                "number format of matrix products; run is what the run learned in, float32 for a model of no run"}
              .one_of({"run", "float32", "bfloat16"}));
  }
};

struct AttentionCommand {
  std::string run;
  std::vector<std::string> texts;
  std::string file;  // in place of texts
  Json given = Json::object();
  MachineFlags machine;
  std::string serve;  // HOST:PORT; empty: a file is written
  bool json = false;
};

tasks::Document document_of(const AttentionCommand& command) {
  if (command.texts.size() > 2 || command.texts.empty() == command.file.empty()) {
    throw UsageError("weft attention needs one text, or two for a model of pairs: as TEXT, or one in --file",
                     "for example: weft attention " + command.run + " 'The loom weaves the thread.'");
  }
  if (!command.file.empty()) {
    return std::move(whole_files({command.file}).front());
  }
  if (!are_texts(command.texts)) {  // "-"
    return std::move(whole_files(command.texts).front());
  }
  tasks::Document document;
  document.first = command.texts.front();
  if (command.texts.size() == 2) {
    document.second = command.texts.back();
  }
  return document;
}

// The texts that a model reads are as many as were given.
void check_texts(const checkpoint::OpenedModel& directory, const tasks::Document& document) {
  const std::string name = quote(directory.path().string(), 4096);
  if (directory.can(checkpoint::Ability::kWrite)) {
    if (!document.second) {
      throw UsageError(name + " is an encoder-decoder: it reads a source and writes a target, and needs both",
                       "for example: weft attention MODEL 'Der Hund schläft.' 'The dog sleeps.'");
    }
  } else if (directory.can(checkpoint::Ability::kPredict) && document.second) {
    throw UsageError(name + " reads one text, found two", "weft attention --help shows examples");
  }
}

tasks::AttentionView view_of(const std::string& run, const tasks::Document& document,
                             const tasks::ViewOptions& options) {
  const checkpoint::OpenedModel directory = checkpoint::open_model(run);
  check_texts(directory, document);
  return tasks::view_directory(directory, document, options);
}

// "127.0.0.1:4321", "[::1]:0".
server::ServerConfig server_at(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  const std::optional<std::int64_t> port =
      colon == std::string::npos ? std::nullopt : integer_of(std::string_view(where).substr(colon + 1));
  if (!port || *port < 0 || *port > 65535 || colon == 0) {
    throw UsageError(concat("--serve must be HOST:PORT, found ", quote(where)), "for example: --serve=127.0.0.1:4321");
  }
  server::ServerConfig config;
  config.address = where.substr(0, colon);
  if (config.address.starts_with('[') && config.address.ends_with(']')) {
    config.address = config.address.substr(1, config.address.size() - 2);
  }
  config.port = *port;
  return config;
}

void check_served(const AttentionCommand& command) {
  for (const char* file : {"out", "svg", "png"}) {
    if (command.given.contains(file)) {
      throw UsageError(concat("--", file, " writes a file, and --serve writes none"), "leave one of them out");
    }
  }
}

// Reads the text once; heads are drawn when a reader looks at them.
void serve_attention(const AttentionCommand& command, const AttentionPageConfig& config,
                     const tasks::Document& document, tasks::ViewOptions options) {
  check_served(command);
  const server::ServerConfig address = server_at(command.serve);
  auto served = std::make_shared<viewer::ServedView>();
  served->kept = std::make_shared<tasks::KeptAttention>();
  served->model = command.run;
  served->cells = config.cells;
  served->top = config.top;
  options.kept = served->kept;
  served->view = view_of(command.run, document, options);
  if (config.layers.empty() && config.heads.empty()) {
    viewer::add_rollout(*served);
  }
  Json summary = tasks::summary_of_view(served->view);
  summary["dtype"] = options.products;
  tasks::require_weights(summary, command.run);
  summary["kept_bytes"] = served->kept->bytes();
  viewer::draw_first_head(*served);
  silence_progress();
  server::run_server(address, viewer::view_routes(served), [&](const std::string& where) {
    summary["listening"] = where;
    if (command.json) {
      print_json(summary);
    } else {
      std::cout << "listening on " << where << '\n';
    }
    std::cout.flush();
  });
}

void write_attention(const AttentionCommand& command) {
  AttentionPageConfig config;
  formats::update_from_json(config, command.given, "weft attention");
  const tasks::Document document = document_of(command);
  apply_machine(command.machine);
  tasks::ViewOptions options;
  options.layers = config.layers;
  options.heads = config.heads;
  options.cells = config.cells;
  options.top = config.top;
  options.products = training::dtype_of_model(config.dtype, command.run);
  if (!command.serve.empty()) {
    serve_attention(command, config, document, options);
    return;
  }
  tasks::AttentionView view = view_of(command.run, document, options);
  Json summary = tasks::summary_of_view(view);
  summary["dtype"] = options.products;
  summary["out"] = config.out;
  tasks::require_weights(summary, command.run);
  if (!config.svg.empty()) {
    write_file_atomically(config.svg, inspect::svg_heat(viewer::attention_figure(view, command.run)));
  }
  if (!config.png.empty()) {
    write_file_atomically(config.png, inspect::png_heat(viewer::attention_figure(view, command.run)));
  }
  // A page of all rows of all heads may be too heavy to open.
  if (const std::optional<tasks::ShorterLists> rows = tasks::shorten_lists(view, kMostRowBytes)) {
    log_warning("the ", config.top, " strongest keys of all rows would take ", rows->bytes >> 20,
                " MiB, and the page has room for ", kMostRowBytes >> 20, ": it lists ", rows->top,
                " of each row; choose fewer with --layers or --heads, or use --serve");
  }
  write_file_atomically(config.out, viewer::attention_page(view, command.run));
  if (command.json) {
    print_json(summary);
  } else {
    std::cout << config.out << '\n';
  }
}

}  // namespace

void add_attention(CLI::App& parent) {
  auto command = std::make_shared<AttentionCommand>();
  CLI::App& app = add_command(parent, "attention", kAttentionExamples);
  add_model_argument(app, "RUN", command->run, "run or model directory").required();
  app.add_option(
      "TEXT", command->texts,
      "the text, - for standard input; two for an encoder-decoder (source, target) and for encoders that read pairs");
  app.add_option("--file", command->file, "file that holds the text, in place of TEXT; - is standard input")
      ->option_text("FILE");
  add_fields<AttentionPageConfig>(app, {.title = "Options"}, command->given);
  app.add_flag("--serve{127.0.0.1:4321}", command->serve,
               "serve the page at this address instead of writing it (--serve=HOST:PORT; port 0 for a free one), and "
               "draw each head, and its parts in smaller cells, when somebody looks at them; Ctrl-C ends it");
  add_machine_flags(app, command->machine);
  add_json_flag(app, command->json);
  app.callback([command] { write_attention(*command); });
}

}  // namespace weft::cli
