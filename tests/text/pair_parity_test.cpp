// SPDX-License-Identifier: Apache-2.0
// The program's side of tests/parity/seq2seq_tokenizers_parity.py: reads texts and ids, one JSON object a line, and
// writes what each side of the tokeniser made of them.
#include <cstdlib>

#include <gtest/gtest.h>

#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_lines.h"
#include "weft/text/pair/pair_tokenizer.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using formats::Json;

Json pair_answer(const PairTokenizer& tokenizer, const Json& request) {
  const std::string text = request.at("text");
  const std::vector<std::int64_t> ids = request.at("ids");
  Json result = Json::object();
  try {
    result["source"] = tokenizer.encode(text, Side::kSource);
    result["target"] = tokenizer.encode(text, Side::kTarget);
    result["decoded"] = tokenizer.display(ids, Side::kTarget);
    const std::string all = tokenizer.side(Side::kTarget).decode(ids);
    result["all"] = strip_right(strip_left(all));
  } catch (const Error& error) {
    result["error"] = error.what();
  }
  return result;
}

TEST(PairTokenizer, ForParity) {
  const char* directory = std::getenv("WEFT_TEST_MODEL");
  const char* in = std::getenv("WEFT_TEST_IN");
  const char* out = std::getenv("WEFT_TEST_OUT");
  if (directory == nullptr || in == nullptr || out == nullptr) {
    GTEST_SKIP() << "only for tests/parity";
  }
  const std::unique_ptr<PairTokenizer> tokenizer = load_pair_tokenizer(directory);
  std::string text =
      formats::print_json({{"vocabulary_size", tokenizer->side(Side::kTarget).vocabulary_size()}}) + "\n";
  for (const Json& request : formats::read_json_lines(in)) {
    text += formats::print_json(pair_answer(*tokenizer, request)) + "\n";
  }
  write_file_atomically(out, text);
}

}  // namespace
}  // namespace weft::text
