// SPDX-License-Identifier: Apache-2.0
// `weft tokenize`: ids, tokens and their places in the text, from the tokeniser of a directory; no model is needed.
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/checkpoint/model_kind.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/printing/visible_output.h"
#include "weft/cli/tasks/text_input.h"
#include "weft/core/joined.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kTokenizeExamples =
    "  weft tokenize bert-base-uncased 'The loom weaves the thread.'\n"
    "  weft tokenize longformer --file book.txt --max-length 4096 --stride 128 --json\n"
    "  weft tokenize bert-base-uncased --decode 101 1996 8840 5358 102";

struct TokenizeConfig {
  std::int64_t max_length = 0;
  std::int64_t stride = 0;
  std::string truncation = "longest-first";
  bool truncate = false;
  bool special_tokens = true;
  bool as_target = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TokenizeConfig;
    visit(Field{"max_length", &C::max_length, "longest window in tokens, special tokens included; 0 for no limit"}
              .at_least(0));
    visit(Field{"stride", &C::stride, "tokens that a window shares with the one before it"}.at_least(0));
    visit(Field{"truncation", &C::truncation, "which of two texts is cut when both are too long for a window"}.one_of(
        {"longest-first", "only-first", "only-second"}));
    visit(Field{"truncate", &C::truncate, "print the first window only"});
    visit(Field{"special_tokens", &C::special_tokens, "put the model's special tokens around the texts"});
    visit(
        Field{"as_target", &C::as_target, "texts are what a model writes, where that has pieces of its own (Marian)"});
  }
};

struct TokenizeOptions {
  std::string directory;
  TextSource source;
  Json given = Json::object();
  bool decode = false;
  bool json = false;
};

/// JSON on standard output in pieces, as it is made: a tree of values takes ten times the memory of a window's tokens.
class JsonOutput {
 public:
  void put(std::string_view text) {
    constexpr std::size_t kPiece = 1 << 16;
    text_ += text;
    if (text_.size() >= kPiece) {
      flush();
    }
  }
  void flush() {
    std::cout << text_;
    text_.clear();
  }

  /// "name":[...] with print(item) between the commas.
  template <typename Item, typename Print>
  void list(const char* name, const std::vector<Item>& items, const Print& print) {
    put(concat('"', name, "\":["));
    for (std::size_t i = 0; i < items.size(); ++i) {
      put(i > 0 ? "," : "");
      put(print(items[i]));
    }
    put("]");
  }

 private:
  std::string text_;
};

std::string string_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string integer_text(std::int64_t number) { return std::to_string(number); }

// null where there is no word or text, as Python has None.
std::string number_or_null(std::int64_t number) { return number < 0 ? "null" : std::to_string(number); }

std::string span_text(const text::Span& span) {
  return "[" + std::to_string(span.begin) + "," + std::to_string(span.end) + "]";
}

void put_window(const text::HuggingFaceTokenizer& tokenizer, const text::Encoding& window, JsonOutput& out) {
  out.put("{");
  out.list("tokens", window.ids, [&](std::int64_t id) { return string_text(tokenizer.token(id)); });
  out.put(",");
  out.list("input_ids", window.ids, integer_text);
  out.put(",");
  out.list("token_type_ids", window.type_ids, integer_text);
  out.put(",");
  out.list("attention_mask", window.ids, [](std::int64_t /*id*/) { return "1"; });
  out.put(",");
  out.list("special_tokens_mask", window.special_mask, integer_text);
  out.put(",");
  out.list("offset_mapping", window.offsets, span_text);
  out.put(",");
  out.list("byte_offsets", window.byte_offsets, span_text);
  out.put(",");
  out.list("word_ids", window.words, number_or_null);
  out.put(",");
  out.list("sequence_ids", window.sequences, number_or_null);
  out.put("}");
}

void print_windows_json(const text::HuggingFaceTokenizer& tokenizer, const std::vector<text::Encoding>& windows,
                        bool truncated) {
  JsonOutput out;
  out.put("{\"result\":[");
  for (std::size_t i = 0; i < windows.size(); ++i) {
    out.put(i > 0 ? "," : "");
    put_window(tokenizer, windows[i], out);
  }
  out.put("],\"metadata\":" + formats::print_json({{"windows", windows.size()}, {"truncated", truncated}}) + "}\n");
  out.flush();
}

text::EncodeOptions encode_options(const TokenizeConfig& config) {
  const text::Truncation side = config.truncation == "only-first"    ? text::Truncation::kOnlyFirst
                                : config.truncation == "only-second" ? text::Truncation::kOnlySecond
                                                                     : text::Truncation::kLongestFirst;
  return {.special_tokens = config.special_tokens,
          .max_length = config.max_length,
          .stride = config.stride,
          .truncation = side};
}

void print_windows(const text::HuggingFaceTokenizer& tokenizer, const tasks::Document& document,
                   const TokenizeConfig& config, bool json) {
  const text::EncodeOptions options = encode_options(config);
  std::vector<text::Encoding> windows;
  try {
    windows = document.second ? tokenizer.encode_windows(document.first, *document.second, options)
                              : tokenizer.encode_windows(document.first, options);
  } catch (const Error& error) {
    throw Error(error.kind(), concat(document.name, ": ", error.what()), error.hint());
  }
  const std::size_t found = windows.size();
  if (config.truncate) {
    windows.resize(1);
  }
  if (json) {
    print_windows_json(tokenizer, windows, found > windows.size());
    return;
  }
  for (const text::Encoding& window : windows) {
    std::cout << joined(window.ids, " ", [&](std::int64_t id) { return tokenizer.token(id); }) << '\n';
  }
}

using Decode = std::function<std::string(const std::vector<std::int64_t>& ids)>;

// The ids of a line, with blanks between.
std::vector<std::int64_t> ids_in(const tasks::Document& line) {
  std::vector<std::int64_t> ids;
  std::istringstream words(line.first);
  for (std::string word; words >> word;) {
    const std::optional<std::int64_t> id = integer_of(word);
    require(id.has_value(), line.name, ": expected ids with blanks between, found ", Quoted(word));
    ids.push_back(*id);
  }
  return ids;
}

void print_text_of(const std::vector<std::int64_t>& ids, const Decode& decode, bool json) {
  const std::string text = decode(ids);
  if (json) {
    print_json({{"result", text}, {"metadata", {{"tokens", ids.size()}}}});
  } else {
    print_text(text + "\n");
  }
}

// The arguments are the ids of one text; a file and standard input have a text a line.
void print_decoded(const TokenizeOptions& options, const Decode& decode) {
  check_source(options.source);
  if (are_texts(options.source.texts)) {
    std::vector<std::int64_t> ids;
    parse_value("ID", options.source.texts, ids);
    print_text_of(ids, decode, options.json);
    return;
  }
  DocumentReader reader(options.source);
  for (auto lines = reader.next(1); !lines.empty(); lines = reader.next(1)) {
    print_text_of(ids_in(lines.front()), decode, options.json);
  }
}

// The side of an encoder-decoder's tokeniser whose pieces have no places in the text.
void print_side(const text::PairTokenizer& tokenizer, text::Side side, const tasks::Document& document,
                const TokenizeConfig& config, bool json) {
  require(!document.second, document.name, ": Marian's and Pegasus' tokenisers take no pairs");
  const std::vector<std::int64_t> ids =
      config.special_tokens ? tokenizer.encode(document.first, side) : tokenizer.side(side).encode(document.first);
  const auto token = [&](std::int64_t id) { return tokenizer.token(id, side); };
  if (!json) {
    std::cout << joined(ids, " ", token) << '\n';
    return;
  }
  JsonOutput out;
  out.put("{\"result\":[{");
  out.list("tokens", ids, [&](std::int64_t id) { return string_text(token(id)); });
  out.put(",");
  out.list("input_ids", ids, integer_text);
  out.put(",");
  out.list("attention_mask", ids, [](std::int64_t /*id*/) { return "1"; });
  out.put("}],\"metadata\":" + formats::print_json({{"windows", 1}, {"truncated", false}}) + "}\n");
  out.flush();
}

void run_sides(const TokenizeOptions& options, const TokenizeConfig& config) {
  const std::unique_ptr<text::PairTokenizer> tokenizer = text::load_pair_tokenizer(options.directory);
  const text::Side side = config.as_target ? text::Side::kTarget : text::Side::kSource;
  require(config.max_length == 0 && config.stride == 0 && !config.truncate, Quoted(options.directory, 4096),
          ": Marian's and Pegasus' texts are not cut into windows: leave out --max-length, --stride and --truncate");
  if (options.decode) {
    print_decoded(options, [&](const std::vector<std::int64_t>& ids) {
      return config.special_tokens ? tokenizer->side(side).decode(ids) : tokenizer->display(ids, side);
    });
    return;
  }
  check_source(options.source);
  DocumentReader reader(options.source);
  for (auto documents = reader.next(1); !documents.empty(); documents = reader.next(1)) {
    print_side(*tokenizer, side, documents.front(), config, options.json);
  }
}

void run_tokenize(const TokenizeOptions& options) {
  TokenizeConfig config;
  formats::update_from_json(config, options.given, "weft tokenize");
  checkpoint::check_model_directory(options.directory);
  if (text::has_piece_tokenizer(options.directory)) {
    run_sides(options, config);
    return;
  }
  const text::HuggingFaceTokenizer tokenizer(options.directory);
  if (options.decode) {
    print_decoded(options,
                  [&](const std::vector<std::int64_t>& ids) { return tokenizer.display(ids, !config.special_tokens); });
    return;
  }
  check_source(options.source);
  DocumentReader reader(options.source);
  for (auto documents = reader.next(1); !documents.empty(); documents = reader.next(1)) {
    print_windows(tokenizer, documents.front(), config, options.json);
  }
}

}  // namespace

void add_tokenize(CLI::App& parent) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App& app = add_command(parent, "tokenize", kTokenizeExamples);
  add_model_argument(app, "DIR", options->directory, "directory with a tokeniser's files", hub::Need::kTokenizer)
      .required();
  add_text_arguments(app, options->source, true);
  add_fields<TokenizeConfig>(app, {.title = "Options"}, options->given);
  app.add_flag("--decode", options->decode,
               "print the text of ids, which are the arguments, or of each line of ids in --file or standard input");
  add_json_flag(app, options->json);
  app.callback([options] { run_tokenize(*options); });
}

}  // namespace weft::cli
