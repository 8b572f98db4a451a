// SPDX-License-Identifier: Apache-2.0
// The program's side of tests/parity/tokenizers_parity.py: reads requests, one JSON object a line, and writes what the
// tokeniser made of each.
#include <cstdlib>

#include <gtest/gtest.h>

#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_lines.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

using formats::Json;

Json spans(const std::vector<Span>& list) {
  Json json = Json::array();
  for (const Span& span : list) {
    json.push_back({span.begin, span.end});
  }
  return json;
}

Json window(const Encoding& encoding) {
  return {{"input_ids", encoding.ids},
          {"token_type_ids", encoding.type_ids},
          {"special_tokens_mask", encoding.special_mask},
          {"offset_mapping", spans(encoding.offsets)},
          {"byte_offsets", spans(encoding.byte_offsets)},
          {"words", encoding.words},
          {"sequences", encoding.sequences}};
}

Json answer(const HuggingFaceTokenizer& tokenizer, const Json& request) {
  EncodeOptions options;
  options.max_length = request.value("max_length", 0);
  options.stride = request.value("stride", 0);
  options.special_tokens = request.value("special_tokens", true);
  const std::string strategy = request.value("truncation", "longest_first");
  options.truncation = strategy == "only_first"    ? Truncation::kOnlyFirst
                       : strategy == "only_second" ? Truncation::kOnlySecond
                                                   : Truncation::kLongestFirst;
  const std::string text = request.at("text");
  Json result = {{"windows", Json::array()}};
  try {
    const bool pair = request.contains("pair");
    for (const Encoding& encoding : pair ? tokenizer.encode_windows(text, request["pair"].get<std::string>(), options)
                                         : tokenizer.encode_windows(text, options)) {
      result["windows"].push_back(window(encoding));
    }
    const std::vector<std::int64_t> ids = result["windows"][0]["input_ids"];
    result["decoded"] = tokenizer.decode(ids);
    result["skipped"] = tokenizer.decode(ids, true);
  } catch (const Error& error) {
    result["error"] = error.what();
  }
  return result;
}

TEST(HuggingFace, ForParity) {
  const char* directory = std::getenv("WEFT_TEST_MODEL");
  const char* in = std::getenv("WEFT_TEST_IN");
  const char* out = std::getenv("WEFT_TEST_OUT");
  if (directory == nullptr || in == nullptr || out == nullptr) {
    GTEST_SKIP() << "only for tests/parity";
  }
  const HuggingFaceTokenizer tokenizer(directory);
  std::string text = formats::print_json({{"vocabulary_size", tokenizer.vocabulary_size()}}) + "\n";
  for (const Json& request : formats::read_json_lines(in)) {
    text += formats::print_json(answer(tokenizer, request)) + "\n";
  }
  write_file_atomically(out, text);
}

}  // namespace
}  // namespace weft::text
