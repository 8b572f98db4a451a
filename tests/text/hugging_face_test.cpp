// SPDX-License-Identifier: Apache-2.0
// Hugging Face tokenisers against what transformers made of the same texts with the same files, and what leads back
// from ids to the text.
#include "weft/text/hugging_face.h"

#include <thread>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/formats/json_lines.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

using formats::Json;
using test::expect_error;
using test::TemporaryDirectory;

const std::filesystem::path kHuggingFace = std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers";

EncodeOptions options_of(const Json& request) {
  EncodeOptions options;
  options.max_length = request.value("max_length", 0);
  options.stride = request.value("stride", 0);
  options.special_tokens = request.value("special_tokens", true);
  const std::string strategy = request.value("truncation", "longest_first");
  options.truncation = strategy == "only_first"    ? Truncation::kOnlyFirst
                       : strategy == "only_second" ? Truncation::kOnlySecond
                                                   : Truncation::kLongestFirst;
  return options;
}

std::vector<Span> spans_in(const Json& list) {
  std::vector<Span> result;
  for (const Json& span : list) {
    result.push_back({span[0].get<std::int64_t>(), span[1].get<std::int64_t>()});
  }
  return result;
}

void expect_window(const Encoding& found, const Json& expected) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(found.ids, expected["input_ids"].get<Numbers>());
  EXPECT_EQ(found.type_ids, expected["token_type_ids"].get<Numbers>());
  EXPECT_EQ(found.special_mask, expected["special_tokens_mask"].get<Numbers>());
  EXPECT_EQ(found.words, expected["words"].get<Numbers>());
  EXPECT_EQ(found.sequences, expected["sequences"].get<Numbers>());
  EXPECT_EQ(found.offsets, spans_in(expected["offset_mapping"]));
}

// Both units name the same place of the text.
void expect_places(const Encoding& found, const std::string& first, const std::string& second) {
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    const std::string& text = found.sequences[i] == 1 ? second : first;
    if (found.sequences[i] >= 0) {
      EXPECT_EQ(found.byte_offsets[i].begin, byte_offset(text, static_cast<std::size_t>(found.offsets[i].begin)));
      EXPECT_EQ(found.byte_offsets[i].end, byte_offset(text, static_cast<std::size_t>(found.offsets[i].end)));
    }
  }
}

class Family : public ::testing::TestWithParam<const char*> {};

TEST_P(Family, EqualsTransformers) {
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  int cases = 0;
  for (const Json& line : formats::read_json_lines(kHuggingFace / GetParam() / "cases.jsonl")) {
    const Json& request = line["request"];
    SCOPED_TRACE(formats::print_json(request));
    const std::string text = request["text"];
    const std::string pair = request.value("pair", "");
    const std::vector<Encoding> windows = request.contains("pair")
                                              ? tokenizer.encode_windows(text, pair, options_of(request))
                                              : tokenizer.encode_windows(text, options_of(request));
    const Json& expected = line["expected"]["windows"];
    ASSERT_EQ(windows.size(), expected.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
      expect_window(windows[i], expected[i]);
      expect_places(windows[i], text, pair);
    }
    EXPECT_EQ(tokenizer.decode(windows[0].ids), line["expected"]["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer.decode(windows[0].ids, true), line["expected"]["skipped"].get<std::string>());
    ++cases;
  }
  EXPECT_GE(cases, 10);
}

TEST_P(Family, IsSavedAsItWas) {
  const TemporaryDirectory copy;
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  tokenizer.save(copy.path());
  const HuggingFaceTokenizer again(copy.path());
  const std::string text = "The loom weaves, twice.";
  EXPECT_EQ(again.encode(text), tokenizer.encode(text));
  EXPECT_EQ(again.vocabulary_size(), tokenizer.vocabulary_size());
  EXPECT_FALSE(std::filesystem::exists(copy / "cases.jsonl"));
}

TEST_P(Family, TokensAndIdsAreEachOthersInverse) {
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  for (std::int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    ASSERT_EQ(tokenizer.find(tokenizer.token(id)), id);
  }
  EXPECT_EQ(tokenizer.find("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer.kind(), "huggingface");
  expect_error(ErrorKind::kArgument, {"token 0 is 99999"}, [&] { tokenizer.token(99999); });
  expect_error(ErrorKind::kArgument, {"token 1 is -1"}, [&] { tokenizer.decode({0, -1}); });
  expect_error(ErrorKind::kArgument, {"4294967296"}, [&] { tokenizer.decode({4294967296}, true); });
}

TEST_P(Family, BrokenTextKeepsItsOffsets) {
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  const std::string text = std::string("the\xFF loom \xC3 \xED\xA0\x80thread") + std::string(1, '\0') + "loom";
  const Encoding encoding = tokenizer.encode_windows(text).front();
  expect_places(encoding, text, "");
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    ASSERT_LE(encoding.byte_offsets[i].end, static_cast<std::int64_t>(text.size()));
    ASSERT_LE(encoding.offsets[i].end, static_cast<std::int64_t>(code_point_count(text)));
  }
  const std::string repaired = "the\uFFFD loom \uFFFD \uFFFD\uFFFD\uFFFDthread" + std::string(1, '\0') + "loom";
  EXPECT_EQ(encoding.ids, tokenizer.encode_windows(repaired).front().ids);
}

TEST_P(Family, WindowsCoverTheText) {
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += "the loom weaves thread " + std::to_string(i) + ", ";
  }
  const std::vector<std::int64_t> whole = tokenizer.encode(text);
  const EncodeOptions options{.max_length = 32, .stride = 8};
  std::vector<std::int64_t> joined;
  for (const Encoding& window : tokenizer.encode_windows(text, options)) {
    EXPECT_LE(window.ids.size(), 32U);
    std::vector<std::int64_t> inner;
    for (std::size_t i = 0; i < window.ids.size(); ++i) {
      if (window.special_mask[i] == 0) {
        inner.push_back(window.ids[i]);
      }
    }
    joined.insert(joined.end(), inner.begin() + (joined.empty() ? 0 : 8), inner.end());
  }
  EXPECT_EQ(joined, whole);
}

TEST_P(Family, OptionsThatCannotBe) {
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  const auto refuse = [&](const EncodeOptions& options, std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kArgument, words, [&] { tokenizer.encode_windows("the loom", options); });
  };
  refuse({.max_length = 2}, {"a length of 2 leaves no room", "2 special tokens"});
  refuse({.max_length = 8, .stride = 6}, {"stride of 6"});
  refuse({.max_length = -1}, {"-1"});
  refuse({.stride = -1}, {"-1"});
  std::string text;
  for (int i = 0; i < 10000; ++i) {
    text += "the loom, ";
  }
  expect_error(ErrorKind::kArgument, {"windows would hold", "tokens for"},
               [&] { tokenizer.encode_windows(text, {.max_length = 512, .stride = 509}); });
  expect_error(ErrorKind::kArgument, {"windows would hold"},
               [&] { tokenizer.encode_windows(text, text, {.max_length = 16}); });
  refuse({.max_length = 3, .truncation = Truncation::kOnlySecond}, {"cannot tokenise the text", "Second sequence"});
}

TEST_P(Family, ServesSeveralThreads) {
  const HuggingFaceTokenizer tokenizer(kHuggingFace / GetParam());
  const std::string text = "The loom weaves the thread, twice; and we'll see.";
  const std::vector<std::int64_t> expected = tokenizer.encode(text);
  std::vector<std::vector<std::int64_t>> found(4);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (auto& ids : found) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ids = tokenizer.encode(text);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& ids : found) {
    EXPECT_EQ(ids, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, Family,
                         ::testing::Values("bert", "roberta", "big_bird", "json", "xlm_roberta", "camembert",
                                           "modernbert", "mpnet", "deberta"),
                         [](const auto& info) { return std::string(info.param); });

// Copies a fixture's tokeniser and lays tokenizer_config.json over it.
std::unique_ptr<HuggingFaceTokenizer> with_settings(const std::string& family, const std::string& settings) {
  const TemporaryDirectory directory;
  std::filesystem::copy(kHuggingFace / family, directory.path());
  write_file_atomically(directory / "tokenizer_config.json", settings);
  return std::make_unique<HuggingFaceTokenizer>(directory.path());
}

TEST(HuggingFace, TheBeginningGivesWayWhereTheDirectorySaysSo) {
  const auto tokenizer = with_settings("bert", R"({"truncation_side": "left"})");
  const std::vector<Encoding> windows = tokenizer->encode_windows("the loom said hello", {.max_length = 4});
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(tokenizer->decode(windows[0].ids, true), "said hello");
  EXPECT_EQ(tokenizer->decode(windows[1].ids, true), "the loom");
}

TEST(HuggingFace, TextIsCleanedUpWhereTheDirectorySaysSo) {
  const auto plain = with_settings("bert", "{}");
  const auto clean = with_settings("bert", R"({"clean_up_tokenization_spaces": true})");
  const std::vector<std::int64_t> ids = plain->encode("hello, world! it's the loom.");
  EXPECT_EQ(plain->display(ids, false), "hello, world! it ' s the loom.") << "as transformers without the cleaning";
  EXPECT_EQ(clean->display(ids, false), "hello, world! it's the loom.");
  EXPECT_EQ(clean->decode(ids), plain->decode(ids));
  const auto pairs = with_settings("roberta", R"({"clean_up_tokenization_spaces": true})");
  EXPECT_EQ(pairs->display(pairs->encode(" a . b"), false), " a . b") << "byte pairs are left alone";
}

TEST(HuggingFace, TokensJoinAsTheyWouldBeDecoded) {
  const HuggingFaceTokenizer bert(kHuggingFace / "bert");
  EXPECT_EQ(bert.continuation(), "##");
  EXPECT_EQ(bert.join({"weav", "##es", "中"}), "weaves 中");
  EXPECT_EQ(bert.join({}), "");
  const HuggingFaceTokenizer roberta(kHuggingFace / "roberta");
  EXPECT_EQ(roberta.continuation(), "");
  EXPECT_EQ(roberta.join({"Ġthe", "Ġlo", "om"}), " the loom");
}

TEST(HuggingFace, WhoHasTokenTypes) {
  EXPECT_EQ(with_settings("bert", R"({"tokenizer_class": "BertTokenizerFast"})")->type_ids(), true);
  EXPECT_EQ(with_settings("roberta", R"({"tokenizer_class": "RobertaTokenizer"})")->type_ids(), false);
  EXPECT_FALSE(with_settings("bert", "{}")->type_ids().has_value());
  EXPECT_EQ(with_settings("bert", R"({"model_input_names": ["input_ids"]})")->type_ids(), false);
}

TEST(HuggingFace, RolesAndLimits) {
  const HuggingFaceTokenizer bert(kHuggingFace / "bert");
  EXPECT_EQ(bert.special(SpecialRole::kMask), 4);
  EXPECT_EQ(bert.special(SpecialRole::kBegin), std::nullopt);
  EXPECT_EQ(bert.maximum_length(), 512);
  const HuggingFaceTokenizer roberta(kHuggingFace / "roberta");
  EXPECT_EQ(roberta.special(SpecialRole::kClass), roberta.special(SpecialRole::kBegin));
  EXPECT_EQ(roberta.special(SpecialRole::kMask), roberta.find("<mask>"));
  EXPECT_EQ(roberta.maximum_length(), 0);
  const HuggingFaceTokenizer json(kHuggingFace / "json");
  EXPECT_EQ(json.special(SpecialRole::kMask), roberta.special(SpecialRole::kMask)) << "by its usual name";
  EXPECT_EQ(json.special(SpecialRole::kSeparator), roberta.special(SpecialRole::kSeparator));
}

TEST(HuggingFace, DirectoriesSayWhichTokenizer) {
  EXPECT_EQ(load_tokenizer(kHuggingFace / "bert")->kind(), "huggingface");
  const TemporaryDirectory directory;
  expect_error(ErrorKind::kIo, {"expected one of tokenizer.json", "found none"},
               [&] { HuggingFaceTokenizer(directory.path()); });
  const auto copy = [&](const char* family, const char* name) {
    std::filesystem::copy_file(kHuggingFace / family / name, directory / name);
  };
  copy("roberta", "vocab.json");
  expect_error(ErrorKind::kIo, {"vocab.json needs merges.txt"}, [&] { HuggingFaceTokenizer(directory.path()); });
  copy("roberta", "merges.txt");
  copy("bert", "vocab.txt");
  expect_error(ErrorKind::kFormat, {"expected one of", "found several"},
               [&] { HuggingFaceTokenizer(directory.path()); });
  copy("json", "tokenizer.json");
  EXPECT_EQ(HuggingFaceTokenizer(directory.path()).vocabulary_size(),
            HuggingFaceTokenizer(kHuggingFace / "json").vocabulary_size())
      << "tokenizer.json goes first, as in transformers";
  write_file_atomically(directory / "tokenizer.model", "x");
  expect_error(ErrorKind::kFormat, {"tokenizer.model", "two tokenisers"}, [&] { load_tokenizer(directory.path()); });
}

TEST(HuggingFace, ClassesOfOtherFamilies) {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(kHuggingFace / "bert/vocab.txt", directory / "vocab.txt");
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "BertTokenizerFast"})");
  EXPECT_EQ(HuggingFaceTokenizer(directory.path()).special(SpecialRole::kMask), 4);
  EXPECT_EQ(HuggingFaceTokenizer(directory.path()).type_ids(), true);
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "DistilBertTokenizer"})");
  EXPECT_EQ(HuggingFaceTokenizer(directory.path()).special(SpecialRole::kMask), 4);
  EXPECT_EQ(HuggingFaceTokenizer(directory.path()).type_ids(), false);
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "FunnelTokenizer"})");
  expect_error(ErrorKind::kUnsupported, {"'FunnelTokenizer'", "tokenizer.json only"},
               [&] { HuggingFaceTokenizer(directory.path()); });
}

TEST(HuggingFace, WhatTheSettingsOfDebertaSay) {
  const auto plain = with_settings("deberta", "{}");
  EXPECT_EQ(plain->special(SpecialRole::kMask), plain->vocabulary_size() - 1) << "behind the pieces";
  EXPECT_EQ(plain->special(SpecialRole::kUnknown), 3);
  EXPECT_EQ(with_settings("deberta", R"({"tokenizer_class": "DebertaV2TokenizerFast"})")->type_ids(), true);
  const auto lower = with_settings("deberta", R"({"do_lower_case": true})");
  EXPECT_NE(plain->encode("The loom"), plain->encode("the loom"));
  EXPECT_EQ(lower->encode("The loom"), plain->encode("the loom"));
  const auto split = with_settings("deberta", R"({"split_by_punct": true})");
  EXPECT_EQ(plain->encode("loom...").size(), 2U);
  EXPECT_EQ(split->encode("loom...").size(), 7U) << "each of the three by itself, behind a blank";
}

TEST(HuggingFace, ADebertaOfAnotherKindIsRefused) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "spm.model", read_file(kHuggingFace / "deberta/spm.model"));
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "AlbertTokenizer"})");
  expect_error(ErrorKind::kUnsupported, {"'AlbertTokenizer'", "tokenizer.json only"},
               [&] { HuggingFaceTokenizer(directory.path()); });
}

// XLM-RoBERTa and CamemBERT call the file alike and number its pieces differently.
TEST(HuggingFace, PiecesThatTwoClassesRead) {
  const TemporaryDirectory directory;
  const std::string model = read_file(kHuggingFace / "camembert/sentencepiece.bpe.model");
  write_file_atomically(directory / "sentencepiece.bpe.model", model);
  const auto load = [&] { return HuggingFaceTokenizer(directory.path()).find("<ent>"); };
  expect_error(ErrorKind::kFormat, {"sentencepiece.bpe.model", "tokenizer_class", "model_type"}, load);
  write_file_atomically(directory / "config.json", R"({"model_type": "camembert"})");
  EXPECT_EQ(load(), 7);
  const TemporaryDirectory copy;
  HuggingFaceTokenizer(directory.path()).save(copy.path());
  EXPECT_EQ(HuggingFaceTokenizer(copy.path()).find("<ent>"), 7) << "without the config.json";
  write_file_atomically(directory / "config.json", R"({"model_type": "xlm-roberta"})");
  EXPECT_EQ(load(), 4);
  EXPECT_EQ(HuggingFaceTokenizer(directory.path()).encode_windows("the <mask>").front().offsets.end()[-2].begin, 3)
      << "a mask has the blank before it";
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "CamembertTokenizerFast"})");
  EXPECT_EQ(load(), 7) << "the class goes first";
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "BarthezTokenizer"})");
  expect_error(ErrorKind::kUnsupported, {"'BarthezTokenizer'", "tokenizer.json only"}, load);
  write_file_atomically(directory / "tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer"})");
  expect_error(ErrorKind::kUnsupported, {"sentencepiece.bpe.model", "byte-pair", "NLLB"}, load);
  std::filesystem::remove(directory / "tokenizer_config.json");
  std::string other = model;
  other.replace(other.find("<s>"), 3, "<z>");
  write_file_atomically(directory / "sentencepiece.bpe.model", other);
  for (const char* family : {"xlm-roberta", "camembert"}) {
    write_file_atomically(directory / "config.json", concat(R"({"model_type": ")", family, R"("})"));
    expect_error(ErrorKind::kFormat, {"sentencepiece.bpe.model", "<unk>, <s>, </s>", "piece 1 is '<z>'"}, load);
  }
}

}  // namespace
}  // namespace weft::text
