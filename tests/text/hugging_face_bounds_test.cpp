// SPDX-License-Identifier: Apache-2.0
// Rules of a tokenizer.json that would take far more memory or time than the text: each is one error that names the
// file and the rule. Ordinary texts of some megabytes are no such thing.
#include <sys/resource.h>

#include <string>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/hugging_face.h"

namespace weft::text {
namespace {

using test::expect_error;

// `count` times `rule`, as a JSON list's content.
std::string repeated(const std::string& rule, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",") + rule;
  }
  return text;
}

std::string replace(const std::string& kind, const std::string& pattern, const std::string& content) {
  return R"({"type":"Replace","pattern":{")" + kind + R"(":")" + pattern + R"("},"content":")" + content + R"("})";
}

std::string normalizers(const std::string& rules) {
  return R"("normalizer":{"type":"Sequence","normalizers":[)" + rules + "]},";
}

std::string split(const std::string& pattern) {
  return R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":")" + pattern +
         R"("},"behavior":"Isolated","invert":false},)";
}

constexpr const char* kCharacters = R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0],["a",-1.0]]})";

class Bounds : public ::testing::Test {
 protected:
  HuggingFaceTokenizer load(const std::string& parts, const std::string& model = kCharacters,
                            const std::string& added = {}) {
    write_file_atomically(directory_ / "tokenizer.json",
                          R"({"version":"1.0","added_tokens":[)" + added + "]," + parts + R"("model":)" + model + "}");
    return HuggingFaceTokenizer(directory_.path());
  }
  void expect_refused(const std::string& parts, const std::string& text,
                      std::initializer_list<std::string_view> words) {
    const HuggingFaceTokenizer tokenizer = load(parts);
    for (const bool windows : {false, true}) {
      const std::string message = expect_error(ErrorKind::kArgument, words, [&] {
        windows ? tokenizer.encode_windows(text).size() : tokenizer.encode(text).size();
      });
      EXPECT_NE(message.find("tokenizer.json: cannot tokenise the text: "), std::string::npos) << message;
    }
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Bounds, NormalizersThatExpand) {
  const std::string text(42, 'a');
  expect_refused(normalizers(repeated(replace("String", "a", "aa"), 60)), text,
                 {"normalizer 11 of 60 (Replace)", "text of 42 bytes", "32 times"});
  expect_refused(normalizers(repeated(replace("Regex", "a+?", "aa"), 60)), text, {"normalizer 11 of 60 (Replace)"});
  const std::string page(7000, 'b');
  expect_refused(normalizers(replace("String", "a", page)), std::string(1 << 20, 'a'), {"the normalizer (Replace)"});
  expect_refused(normalizers(repeated(R"({"type":"Prepend","prepend":")" + page + R"("})", 20)), text, {"(Prepend)"});
  expect_refused(normalizers(repeated(R"({"type":"ByteLevel"})", 60)), "é", {"(ByteLevel)"});
  EXPECT_EQ(load(normalizers(repeated(replace("String", "a", "aa"), 4))).encode("aa").size(), 32U);
}

TEST_F(Bounds, PartsOfATextAddUp) {
  const std::string added =
      R"({"id":2,"content":"|","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  const std::string parts = normalizers(R"({"type":"Prepend","prepend":")" + std::string(1000, 'a') + R"("})");
  const HuggingFaceTokenizer tokenizer = load(parts, kCharacters, added);
  std::string text;
  for (int i = 0; i < 10000; ++i) {
    text += "a|";
  }
  expect_error(ErrorKind::kArgument, {"tokenizer.json", "the normalizer (Prepend)"}, [&] { tokenizer.encode(text); });
}

TEST_F(Bounds, AddedTokensThatExpand) {
  const std::string added =
      R"({"id":2,"content":"aaaa","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
  expect_error(ErrorKind::kFormat, {"tokenizer.json", "normalizer", "(Replace)"},
               [&] { load(normalizers(repeated(replace("String", "a", "aa"), 60)), kCharacters, added); });
}

TEST_F(Bounds, PreTokenizersThatExpand) {
  const std::string rule = R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false})";
  expect_refused(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + repeated(rule, 60) + "]},", "é",
                 {"pre_tokenizer", "of 60 (ByteLevel)"});
}

TEST_F(Bounds, DecodersThatExpand) {
  const std::string rules = repeated(replace("String", "a", "aa"), 60);
  const HuggingFaceTokenizer tokenizer = load(R"("decoder":{"type":"Sequence","decoders":[)" + rules + "]},");
  expect_error(ErrorKind::kArgument, {"tokenizer.json: cannot decode", "decoder", "of 60 (Replace)"},
               [&] { tokenizer.decode({1, 1, 1}); });
}

TEST_F(Bounds, CatastrophicExpressions) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += "aaaaaaaaaaaaaaaaaaaaaaaaaaaa! ";
  }
  expect_refused(split("(a+)+[bc]"), text, {"the pre_tokenizer (Split)", "backtracks"});
  expect_refused(normalizers(replace("Regex", R"((a|aa)+\\d)", "")), text, {"the normalizer (Replace)", "backtracks"});
  // Without a step back: the look-ahead goes over all of the text at each of its letters.
  expect_refused(split("(?:(?=[^b]*+)a)*b"), std::string(1 << 20, 'a') + "b", {"(Split)", "at most 16384 bytes"});
  expect_refused(split(R"((a*)\\1b)"), std::string(1 << 20, 'a') + "b", {"(Split)", "at most 1024 bytes"});
}

TEST_F(Bounds, OrdinaryTextsOfSomeMegabytes) {
  std::string text;
  while (text.size() < (std::size_t{4} << 20)) {
    text += "The loom weaves 1,234 threads;  über and 中文 too.\n";
  }
  const std::string rules =
      normalizers(R"({"type":"NFC"},)" + replace("Regex", " {2,}", " ")) +
      split(R"('(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+)");
  EXPECT_GT(load(rules).encode(text).size(), text.size() / 4);
}

TEST_F(Bounds, ModelsThatTakeHoursForAWord) {
  const std::string mark(1000, '#');
  const std::string pieces = R"("unk_token":"a","vocab":{"a":0},"continuing_subword_prefix":")";
  expect_error(ErrorKind::kFormat, {"tokenizer.json", "continuing_subword_prefix has 1000 bytes"},
               [&] { load("", R"({"type":"WordPiece","max_input_chars_per_word":100,)" + pieces + mark + "\"}"); });
  const HuggingFaceTokenizer words =
      load("", R"({"type":"WordPiece","max_input_chars_per_word":1000000000,)" + pieces + "##\"}");
  expect_error(ErrorKind::kArgument, {"tokenizer.json", "a word has 100000 letters"},
               [&] { words.encode(std::string(100000, 'a')); });
  std::string chain = R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0.0])";
  for (int length = 1; length < 1000; ++length) {
    chain += ",[\"" + std::string(static_cast<std::size_t>(length), 'a') + "\",-1.0]";
  }
  expect_error(ErrorKind::kFormat, {"tokenizer.json", "begin one another"}, [&] { load("", chain + "]}"); });
}

// In a process that may take no more than that.
void encode_within(const HuggingFaceTokenizer& tokenizer, const std::string& text, rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  std::exit(tokenizer.encode(text).size() >= text.size() ? 0 : 1);
}

TEST_F(Bounds, AMegabyteOfBrokenBytesTakesLittleMemory) {
  if (WEFT_SANITIZED) {
    GTEST_SKIP() << "sanitizers take address space of their own";
  }
  const HuggingFaceTokenizer tokenizer(std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers/roberta");
  const std::string text(1 << 20, '\xFF');
  EXPECT_EXIT(encode_within(tokenizer, text, rlim_t{640} << 20), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::text
