// SPDX-License-Identifier: Apache-2.0
// Tokeniser files and texts that must not hurt: each gives one clear error or a quick answer.
#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

const std::filesystem::path kFixtures = std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers";

// A tokenizer.json around one model.
std::string json_file(const std::string& model, const std::string& parts = {}) {
  return R"({"version":"1.0","added_tokens":[],)" + parts + R"("model":)" + model + "}";
}

constexpr const char* kUnigram = R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.0]]})";

class Hostile : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) { write_file_atomically(directory_ / name, content); }
  HuggingFaceTokenizer load() { return HuggingFaceTokenizer(directory_.path()); }
  void expect_refused(std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kFormat, words, [&] { load(); });
  }
  // A family's files, one of which a test then replaces.
  void copy(const char* family) {
    using std::filesystem::copy_options;
    std::filesystem::copy(kFixtures / family, directory_.path(),
                          copy_options::recursive | copy_options::overwrite_existing);
  }
  TemporaryDirectory directory_;
};

TEST_F(Hostile, JsonThatIsNone) {
  for (const char* text : {"", "{", "[]", "{}", "\xff", R"({"model": 3})", R"({"model": {"type": "Unigram"}})"}) {
    write("tokenizer.json", text);
    expect_refused({"tokenizer.json", "not a tokeniser that can be read"});
  }
  write("tokenizer.json", std::string(100000, '['));
  expect_refused({"tokenizer.json"});
  write("tokenizer.json", json_file(std::string(100000, '{')));
  expect_refused({"tokenizer.json"});
  const std::string whole = read_file(kFixtures / "json/tokenizer.json");
  for (std::size_t size = 0; size < whole.size(); size += 101) {
    write("tokenizer.json", whole.substr(0, size));
    expect_refused({"tokenizer.json"});
  }
}

TEST_F(Hostile, CatastrophicRegularExpressions) {
  const std::string split = R"({"type":"Split","pattern":{"Regex":"(a+)+$"},"behavior":"Isolated","invert":false})";
  write("tokenizer.json", json_file(kUnigram, R"("pre_tokenizer":)" + split + ","));
  const HuggingFaceTokenizer tokenizer = load();
  expect_error(ErrorKind::kArgument,
               {"tokenizer.json", "cannot tokenise the text", "the pre_tokenizer (Split) backtracks too often"},
               [&] { tokenizer.encode(std::string(5000, 'a') + "b"); });
  EXPECT_FALSE(tokenizer.encode("aaa").empty()) << "it lives on";
}

TEST_F(Hostile, CharacterMapsOfFewBytes) {
  for (const char* map : {"AQ==", "AQI=", "AQID", "AAQAAA==", "////////", "not base64!"}) {
    const std::string normalizer =
        concat(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":")", map, "\"},");
    write("tokenizer.json", json_file(kUnigram, normalizer));
    try {
      load().encode("a text é");
    } catch (const Error& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
}

TEST_F(Hostile, ByteTokensThatAreNone) {
  const std::string model =
      R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["<0x-1>",-1.0],["<0x41>",-1.0]],"byte_fallback":true})";
  write("tokenizer.json", json_file(model, R"("decoder":{"type":"ByteFallback"},)"));
  const HuggingFaceTokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.decode({1, 2}), "<0x-1>A");
  tokenizer.encode("A\xFF é");
}

TEST_F(Hostile, SpecialIdsBeyondTheVocabulary) {
  const std::string around =
      R"("post_processor":{"type":"BertProcessing","sep":["[SEP]",4000000000],"cls":["[CLS]",1]},)";
  write("tokenizer.json", json_file(kUnigram, around));
  expect_refused({"tokenizer.json", "4000000000", "not in the vocabulary"});
  copy("bert");
  std::filesystem::remove(directory_ / "tokenizer.json");
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"4000000": {"content": "[NEW]"}}})");
  expect_refused({"'[NEW]'", "id 4000000, but beside this vocabulary it has"});
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"-3": {"content": "[NEW]"}}})");
  expect_refused({"tokenizer_config.json", "'[NEW]'", "integer of at least 0"});
}

TEST_F(Hostile, HugeIds) {
  write("tokenizer.json", json_file(R"({"type":"WordLevel","unk_token":"a","vocab":{"a":4294967295}})"));
  EXPECT_EQ(load().encode("a").at(0), 4294967295);
  write("tokenizer.json", json_file(R"({"type":"BPE","vocab":{"a":4294967295},"merges":[]})"));
  EXPECT_EQ(load().token(4294967295), "a");
  expect_error(ErrorKind::kFormat, {"4294967295", "16777216"}, [&] { word_beginnings(load()); });
  write("tokenizer.json", json_file(R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"));
  expect_refused({"tokenizer.json"});
}

TEST_F(Hostile, MergesOfAbsentTokens) {
  copy("roberta");
  write("merges.txt", "#version: 0.2\nh zzz\n");
  expect_refused({"not a tokeniser that can be read", "zzz"});
  write("merges.txt", "#version: 0.2\nh e l\n");
  expect_refused({"merges.txt: line 2 must be two tokens", "'h e l'"});
  write("merges.txt", "alone\n");
  expect_refused({"line 1"});
  std::filesystem::remove(directory_ / "merges.txt");
  std::filesystem::remove(directory_ / "vocab.json");
  std::filesystem::remove(directory_ / "special_tokens_map.json");
  // What is longer than every token of the vocabulary, and a prefix that is longer than a token, are panics of the
  // crate.
  const std::string vocabulary = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"long":3},)";
  const auto refuse = [&](const std::string& rest, std::initializer_list<std::string_view> words) {
    write("tokenizer.json", json_file(vocabulary + rest + "}"));
    expect_refused({"tokenizer.json: not a tokeniser that can be read"});
    expect_refused(words);
  };
  refuse(R"("merges":[["a","b"],["a","x"]])", {R"(merge 2 ("a", "x"))", R"("x" is not in the vocabulary)"});
  refuse(R"("merges":["a b","ab long"])", {R"(merge 2 ("ab", "long"))", R"("ablong" is not in the vocabulary)"});
  refuse(R"("merges":[["long","ab"]])", {R"(merge 1 ("long", "ab"))", R"("longab" is not in the vocabulary)"});
  refuse(R"("continuing_subword_prefix":"##","merges":[["a","b"]])", {R"(must begin with the prefix "##")"});
  refuse(R"("continuing_subword_prefix":"##","merges":[["a","long"]])",
         {R"(merge 1 ("a", "long"))", R"("ang" is not)"});
  write("tokenizer.json", json_file(vocabulary + R"("merges":["a b"]})"));
  EXPECT_EQ(load().encode("ab"), std::vector<std::int64_t>{2});
}

TEST_F(Hostile, Vocabularies) {
  copy("roberta");
  for (const char* text :
       {"[]", "[1]", R"({"a": -1})", R"({"a": "b"})", R"({"a": 1.5})", R"({"a": 4294967296})", "{"}) {
    write("vocab.json", text);
    EXPECT_THROW(load(), Error) << text;
  }
  write("vocab.json", R"({"a": "b"})");
  expect_refused({"vocab.json", "the id of 'a'"});
}

TEST_F(Hostile, TokensThatAreNotUtf8) {
  write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\xFF\n");
  expect_refused({"'a\\xff' is not UTF-8"});
}

TEST_F(Hostile, SentencePieceModels) {
  for (const auto& [family, file] : {std::pair{"big_bird", "spiece.model"}, std::pair{"deberta", "spm.model"},
                                     std::pair{"camembert", "sentencepiece.bpe.model"}}) {
    copy(family);
    const std::string whole = read_file(kFixtures / family / file);
    for (std::size_t size = 1; size < whole.size(); size += 37) {
      // No field begins with a byte 7, and none that is cut is as long.
      write(file, whole.substr(0, size) + std::string(4000, '\x07'));
      expect_refused({"not a sound SentencePiece model"});
    }
    write(file, "text, and no model");
    expect_refused({"not a sound SentencePiece model"});
    std::filesystem::remove(directory_ / file);
  }
}

// Its character map is a double array, which the Rust part walks without a check of its own.
TEST_F(Hostile, SentencePieceModelsWithAnotherByte) {
  copy("camembert");
  const std::string whole = read_file(kFixtures / "camembert/sentencepiece.bpe.model");
  std::size_t loaded = 0;
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x5A);
    write("sentencepiece.bpe.model", other);
    try {
      EXPECT_FALSE(load().encode_windows("\xEF\xAC\x81 the \xC2\xBD loom\xE2\x80\xA6").front().ids.empty());
      ++loaded;
    } catch (const Error& error) {
      EXPECT_FALSE(std::string_view(error.what()).empty());
    }
  }
  EXPECT_GT(loaded, 0U);
}

class LongText : public ::testing::TestWithParam<const char*> {};

TEST_P(LongText, AMegabyteOfOneThing) {
  const HuggingFaceTokenizer tokenizer(kFixtures / GetParam());
  const EncodeOptions options{.max_length = 512, .stride = 128};
  constexpr std::size_t kBytes = WEFT_SANITIZED ? 1 << 18 : 1 << 20;
  for (const char character : {'a', ' '}) {
    const std::vector<Encoding> windows = tokenizer.encode_windows(std::string(kBytes, character), options);
    EXPECT_LE(windows.front().ids.size(), 512U);
  }
  EXPECT_FALSE(tokenizer.encode_windows(std::string(kBytes / 4, '\xFF'), options).empty());
}

INSTANTIATE_TEST_SUITE_P(Hostile, LongText, ::testing::Values("bert", "roberta", "big_bird", "xlm_roberta"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::text
