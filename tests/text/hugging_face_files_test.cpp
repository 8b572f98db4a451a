// SPDX-License-Identifier: Apache-2.0
// The files beside a vocabulary, the ids of added tokens, and vocabularies as text.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/hugging_face/vocabulary.h"

namespace weft::text {
namespace {

using formats::Json;
using formats::parse_json;
using test::expect_error;

TokenizerSettings read(const std::map<std::string, std::string>& files) {
  return read_tokenizer_settings(files, "dir");
}
TokenizerSettings read_config(const std::string& config) { return read({{"tokenizer_config.json", config}}); }

const AddedToken& mask_of(const TokenizerSettings& settings) {
  return *settings.named[static_cast<std::size_t>(SpecialRole::kMask)];
}

TEST(TokenizerSettings, NothingSaysNothing) {
  const TokenizerSettings settings = read({});
  EXPECT_FALSE(settings.lower_case.has_value());
  EXPECT_TRUE(settings.chinese_characters);
  EXPECT_FALSE(settings.strip_accents.has_value());
  EXPECT_EQ(settings.maximum_length, 0);
  EXPECT_TRUE(settings.extra.empty());
}

TEST(TokenizerSettings, FieldsOfTheConfig) {
  const TokenizerSettings settings = read_config(
      R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false, "strip_accents": true, "model_max_length": 512,
          "tokenize_chinese_chars": false, "add_prefix_space": true, "trim_offsets": false, "mask_token": "[M]"})");
  EXPECT_EQ(settings.tokenizer_class, "BertTokenizer");
  EXPECT_EQ(settings.lower_case, false);
  EXPECT_FALSE(settings.chinese_characters);
  EXPECT_FALSE(settings.trim_offsets);
  EXPECT_EQ(settings.strip_accents, true);
  EXPECT_EQ(settings.prefix_space, true);
  EXPECT_EQ(settings.maximum_length, 512);
  EXPECT_EQ(mask_of(settings).content, "[M]");
  EXPECT_TRUE(mask_of(settings).special);
  EXPECT_EQ(read_config(R"({"model_max_length": 1000000000000000019884624838656})").maximum_length, 0);
}

TEST(TokenizerSettings, WhatShapesAnEncoding) {
  const TokenizerSettings settings = read_config(
      R"({"truncation_side": "left", "clean_up_tokenization_spaces": true, "model_input_names": ["input_ids"]})");
  EXPECT_TRUE(settings.truncate_left);
  EXPECT_TRUE(settings.clean_up);
  EXPECT_EQ(settings.type_ids, false);
  EXPECT_EQ(read_config(R"({"model_input_names": ["input_ids", "token_type_ids"]})").type_ids, true);
  EXPECT_FALSE(read({}).type_ids.has_value());
  expect_error(ErrorKind::kFormat, {"truncation_side", "'up'"}, [] { read_config(R"({"truncation_side": "up"})"); });
  expect_error(ErrorKind::kFormat, {"model_input_names", "list"}, [] { read_config(R"({"model_input_names": 1})"); });
  EXPECT_EQ(read_config(R"({"model_max_length": null})").maximum_length, 0);
  EXPECT_EQ(read_config(R"({"model_max_length": Infinity, "of others": NaN})").maximum_length, 0);
  expect_error(ErrorKind::kFormat, {"model_max_length must be a number, found string"},
               [] { read_config(R"({"model_max_length": "512"})"); });
}

TEST(TokenizerSettings, TheOlderFilesCountUnlessTheDecoderIsThere) {
  std::map<std::string, std::string> files{
      {"special_tokens_map.json", R"({"mask_token": {"content": "<mask>", "lstrip": true, "normalized": true}})"},
      {"added_tokens.json", R"({"<mask>": 7, "word": 8})"}};
  const TokenizerSettings older = read(files);
  EXPECT_TRUE(mask_of(older).strip_left);
  EXPECT_TRUE(mask_of(older).normalized);
  EXPECT_TRUE(older.added.at(7).special) << "it has a role";
  EXPECT_TRUE(older.added.at(8).normalized);
  files["tokenizer_config.json"] = R"({"added_tokens_decoder": {"9": {"content": "x", "rstrip": true}}})";
  const TokenizerSettings newer = read(files);
  EXPECT_FALSE(newer.named[static_cast<std::size_t>(SpecialRole::kMask)].has_value());
  ASSERT_EQ(newer.added.size(), 1U);
  EXPECT_TRUE(newer.added.at(9).strip_right);
  EXPECT_TRUE(newer.added.at(9).normalized);
}

TEST(TokenizerSettings, Mistakes) {
  const auto refuse = [](const std::string& config, std::initializer_list<std::string_view> words) {
    const std::string message = expect_error(ErrorKind::kFormat, words, [&] { read_config(config); });
    EXPECT_TRUE(message.starts_with("dir: tokenizer_config.json: ")) << message;
  };
  refuse("[]", {"expected an object, found array"});
  refuse(R"({"do_lower_case": 1})", {"do_lower_case must be true or false, found number"});
  refuse(R"({"tokenizer_class": 1})", {"tokenizer_class must be a string"});
  refuse(R"({"mask_token": 1})", {"'mask_token' must be a token"});
  refuse(R"({"mask_token": {}})", {"'mask_token' must be a token"});
  refuse(R"({"additional_special_tokens": [3]})", {"'additional_special_tokens' must be a token"});
  refuse(R"({"added_tokens_decoder": []})", {"must be an object, found array"});
  refuse(R"({"added_tokens_decoder": {"x": {"content": "a"}}})", {"'a' must have an integer"});
  refuse(R"({"added_tokens_decoder": {"99999999999": {"content": "a"}}})", {"'a' must have an integer"});
  refuse("{", {"not valid JSON"});
}

TEST(AddedTokens, IdsInTheOrderOfTransformers) {
  const TokenizerSettings settings =
      read_config(R"({"cls_token": "[NEW]", "mask_token": "b", "additional_special_tokens": ["c", "[X]"]})");
  const AddedTokens added(settings, {{"a", 0}, {"b", 1}, {"c", 2}}, "dir");
  EXPECT_EQ(added.id("b"), 1);
  EXPECT_EQ(added.id("[NEW]"), 3);
  EXPECT_EQ(added.id("[X]"), 4);
  ASSERT_EQ(added.json().size(), 4U);
  EXPECT_EQ(added.json()[0]["content"], "b");
  EXPECT_EQ(added.json()[3]["id"], 4);
  EXPECT_EQ(added.json()[3]["special"], true);
}

TEST(Vocabulary, ReadsItsFiles) {
  EXPECT_EQ(read_vocabulary_json(R"({"a": 0, "\u0120b": 1})", "v"), (TokenIds{{"a", 0}, {"Ġb", 1}}));
  EXPECT_EQ(read_vocabulary_lines("a\r\nb \n\u3000\nb"), (TokenIds{{"a", 0}, {"b", 3}, {"", 2}}));
  EXPECT_EQ(merges_as_json("#version: 0.2\na b\r\n\" \\\n", "m"), R"([["a","b"],["\"","\\"]])");
  EXPECT_EQ(merges_as_json("", "m"), "[]");
}

TEST(Vocabulary, Mistakes) {
  const auto refuse = [](const std::string& json, std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kFormat, words, [&] { read_vocabulary_json(json, "v"); });
  };
  refuse("[]", {"v: expected an object", "found a list"});
  refuse("3", {"found the number 3"});
  refuse(R"({"a": -1})", {"the id of 'a'", "a negative number"});
  refuse(R"({"a": 2147483648})", {"the number 2147483648"});
  refuse(R"({"a": {}})", {"the id of 'a'", "an object"});
  refuse(R"({"a": null})", {"null"});
  refuse(R"({"a": true})", {"true or false"});
  refuse(R"({"a": 1.5})", {"a fraction"});
  refuse(R"({"a": 1, "a": 2})", {"'a' appears twice"});
  expect_error(ErrorKind::kFormat, {"m: line 2"}, [] { merges_as_json("a b\nc\n", "m"); });
  expect_error(ErrorKind::kFormat, {"v: the token '\\xff' is not UTF-8"}, [] { json_string("\xFF", "v"); });
}

TEST(Compose, WritesWhatTheFamiliesAreMadeOf) {
  TokenizerSettings settings = read_config(R"({"do_lower_case": false})");
  const Json json = parse_json(compose_bert("[UNK]\n[CLS]\n[SEP]\na\n", settings, "dir"), "composed");
  EXPECT_EQ(json["model"]["vocab"]["a"], 3);
  EXPECT_EQ(json["normalizer"]["lowercase"], false);
  EXPECT_EQ(json["added_tokens"].size(), 5U) << "[PAD] and [MASK] come behind the vocabulary";
  EXPECT_EQ(json["post_processor"]["special_tokens"]["[CLS]"]["ids"][0], 1);
  EXPECT_EQ(settings.named[static_cast<std::size_t>(SpecialRole::kPadding)]->content, "[PAD]");
}

}  // namespace
}  // namespace weft::text
