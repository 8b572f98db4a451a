// SPDX-License-Identifier: Apache-2.0
// `weft tokenize`: ids, tokens and their places in the text, from the tokeniser of a directory; no model is needed.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/model_kind.h"
#include "weft/cli/field_flags.h"
#include "weft/cli/help.h"
#include "weft/cli/output.h"
#include "weft/cli/tasks/task_commands.h"
#include "weft/cli/tasks/text_input.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/text/hugging_face.h"

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

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = TokenizeConfig;
    visit(Field{"max_length", &C::max_length, "tokens of a window, special ones included; 0 is no limit"}.at_least(0));
    visit(Field{"stride", &C::stride, "tokens that a window shares with the one before it"}.at_least(0));
    visit(Field{"truncation", &C::truncation, "which of two texts gives way"}.one_of(
        {"longest-first", "only-first", "only-second"}));
    visit(Field{"truncate", &C::truncate, "the first window only"});
    visit(Field{"special_tokens", &C::special_tokens, "put the model's special tokens around the texts"});
  }
};

struct TokenizeOptions {
  std::string directory;
  TextSource source;
  Json given = Json::object();
  bool decode = false;
  bool json = false;
};

Json spans_json(const std::vector<text::Span>& spans) {
  Json list = Json::array();
  for (const text::Span& span : spans) {
    list.push_back({span.begin, span.end});
  }
  return list;
}

// null where there is no word or text, as Python has None.
Json or_nulls(const std::vector<std::int64_t>& numbers) {
  Json list = Json::array();
  for (const std::int64_t number : numbers) {
    list.push_back(number < 0 ? Json(nullptr) : Json(number));
  }
  return list;
}

std::vector<std::string> token_texts(const text::HuggingFaceTokenizer& tokenizer,
                                     const std::vector<std::int64_t>& ids) {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  std::transform(ids.begin(), ids.end(), std::back_inserter(tokens),
                 [&](std::int64_t id) { return tokenizer.token(id); });
  return tokens;
}

Json window_json(const text::HuggingFaceTokenizer& tokenizer, const text::Encoding& window) {
  return {{"tokens", token_texts(tokenizer, window.ids)},
          {"input_ids", window.ids},
          {"token_type_ids", window.type_ids},
          {"attention_mask", std::vector<int>(window.ids.size(), 1)},
          {"special_tokens_mask", window.special_mask},
          {"offset_mapping", spans_json(window.offsets)},
          {"byte_offsets", spans_json(window.byte_offsets)},
          {"word_ids", or_nulls(window.words)},
          {"sequence_ids", or_nulls(window.sequences)}};
}

std::string window_line(const text::HuggingFaceTokenizer& tokenizer, const text::Encoding& window) {
  return joined(window.ids, " ", [&](std::int64_t id) { return tokenizer.token(id); });
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
  Json list = Json::array();
  for (const text::Encoding& window : windows) {
    if (json) {
      list.push_back(window_json(tokenizer, window));
    } else {
      std::cout << window_line(tokenizer, window) << '\n';
    }
  }
  if (json) {
    print_json({{"result", list}, {"metadata", {{"windows", windows.size()}, {"truncated", found > windows.size()}}}});
  }
}

void print_decoded(const text::HuggingFaceTokenizer& tokenizer, const TokenizeOptions& options, bool skip_special) {
  std::vector<std::int64_t> ids;
  parse_value("ID", options.source.texts, ids);
  const std::string text = tokenizer.display(ids, skip_special);
  if (options.json) {
    print_json({{"result", text}, {"metadata", {{"tokens", ids.size()}}}});
  } else {
    std::cout << text << '\n';
  }
}

void run_tokenize(const TokenizeOptions& options) {
  TokenizeConfig config;
  formats::update_from_json(config, options.given, "weft tokenize");
  checkpoint::check_model_directory(options.directory);
  const text::HuggingFaceTokenizer tokenizer(options.directory);
  if (options.decode) {
    print_decoded(tokenizer, options, !config.special_tokens);
    return;
  }
  DocumentReader reader(options.source);
  for (auto documents = reader.next(1); !documents.empty(); documents = reader.next(1)) {
    print_windows(tokenizer, documents.front(), config, options.json);
  }
}

}  // namespace

void add_tokenize(CLI::App& parent) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App& app = add_command(parent, "tokenize", kTokenizeExamples);
  app.add_option("DIR", options->directory, "directory with a tokeniser's files")->required();
  add_text_arguments(app, options->source, true);
  add_fields<TokenizeConfig>(app, {.title = "Options"}, options->given);
  app.add_flag("--decode", options->decode, "the arguments are ids; print their text");
  add_json_flag(app, options->json);
  app.callback([options] { run_tokenize(*options); });
}

}  // namespace weft::cli
