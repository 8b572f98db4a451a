// SPDX-License-Identifier: Apache-2.0
// Settings from directories as the hub has them, and lengths.
#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/generation/settings/read_settings.h"

namespace weft::generation {
namespace {

class SettingsTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_.path() / name) << text; }
  GenerationConfig read() const { return read_settings(directory_.path()); }

  test::TemporaryDirectory directory_;
};

TEST_F(SettingsTest, AGenerationConfigAsTheHubHasThem) {
  write("config.json", R"({"num_beams": 9, "decoder_start_token_id": 7, "pad_token_id": 3})");
  write("generation_config.json", R"({"_from_model_config": true, "bad_words_ids": [[58100], [4, 5]],
    "bos_token_id": 0, "eos_token_id": 0, "forced_eos_token_id": 0, "max_length": 512, "num_beams": 4,
    "decoder_start_token_id": 58100, "renormalize_logits": true, "early_stopping": true, "min_length": null,
    "sequence_bias": [[[1, 2], -0.5]], "exponential_decay_length_penalty": [30, 1.5], "num_beam_groups": 1,
    "transformers_version": "4.32.0.dev0"})");
  const GenerationConfig config = read();
  EXPECT_EQ(config.bad_words_ids, (std::vector<std::string>{"58100", "4,5"}));
  EXPECT_EQ(config.eos_token_id, std::vector<std::int64_t>{0});
  EXPECT_EQ(config.forced_eos_token_id, std::vector<std::int64_t>{0});
  EXPECT_EQ(config.max_length, 512);
  EXPECT_EQ(config.num_beams, 4);
  EXPECT_EQ(config.early_stopping, "true");
  EXPECT_TRUE(config.renormalize_logits);
  EXPECT_EQ(start_token(config, "here"), 58100);
  EXPECT_EQ(config.pad_token_id, 3);  // an id that only fills a table: from the model's config
  EXPECT_EQ(biased_words(config).front().bias, -0.5);
  EXPECT_EQ(length_decay(config)->start, 30);
}

TEST_F(SettingsTest, NoFewerTokensThanTheMost) {
  GenerationConfig config;
  config.min_new_tokens = 9;  // of a directory: a length that is given wins
  EXPECT_EQ(settings_over(config, {{"max_new_tokens", 3}}, "here").max_new_tokens, 3);
  test::expect_error(ErrorKind::kArgument, {"here: min_new_tokens 9 is above max_new_tokens 3"},
                     [&] { settings_over(config, {{"max_new_tokens", 3}, {"min_new_tokens", 9}}, "here"); });
  EXPECT_NO_THROW(settings_over(config, {{"max_new_tokens", 9}, {"min_new_tokens", 9}}, "here"));
}

TEST_F(SettingsTest, WithoutItTheModelsConfig) {
  write("config.json", R"({"model_type": "bart", "num_beams": 5, "early_stopping": "never", "d_model": 3})");
  EXPECT_EQ(read().num_beams, 5);
  EXPECT_EQ(read().early_stopping, "never");
  GenerationConfig usual;
  usual.do_sample = true;
  EXPECT_TRUE(read_settings(directory_.path(), usual).do_sample);
  write("generation_config.json", "{}");
  EXPECT_FALSE(read_settings(directory_.path(), usual).do_sample);
  EXPECT_EQ(read().num_beams, 1);
  write("generation_config.json", R"({"stop_strings": "END", "constraints": [], "watermarking_config": {}})");
  EXPECT_EQ(read().stop_strings, std::vector<std::string>{"END"});
}

TEST_F(SettingsTest, TheModelsConfigIsReadWithTheSameCare) {
  GenerationConfig usual;
  usual.max_new_tokens = 256;
  write("config.json", R"({"max_length": 9})");
  EXPECT_EQ(lengths_of(read_settings(directory_.path(), usual), 3, std::nullopt).maximum, 9);
  write("config.json", R"({"diversity_penalty": 0.5})");
  test::expect_error(ErrorKind::kUnsupported, {"'", "config.json", "diversity_penalty"}, [&] { read(); });
  write("config.json", R"({"diversity_penalty": 0.0, "num_beam_groups": 1})");
  EXPECT_EQ(read_settings(directory_.path(), usual).max_new_tokens, 256);
}

// As transformers 5.23: generation_config.json decides alone, where it names any token that a text may start with.
TEST_F(SettingsTest, TheStartTokenOfADirectoryWithoutOne) {
  write("config.json", R"({"decoder_start_token_id": 2, "bos_token_id": 5})");
  EXPECT_EQ(start_token(read(), "here"), 2);
  write("generation_config.json", R"({"bos_token_id": 0})");
  EXPECT_EQ(start_token(read(), "here"), 0);
  write("generation_config.json", R"({"bos_token_id": 0, "decoder_start_token_id": 7})");
  EXPECT_EQ(start_token(read(), "here"), 7);
  write("generation_config.json", R"({"num_beams": 2})");  // which transformers refuses
  EXPECT_EQ(start_token(read(), "here"), 2);
  write("config.json", R"({"bos_token_id": 5})");
  EXPECT_EQ(start_token(read(), "here"), 5);
}

TEST_F(SettingsTest, TheOlderNameOfAForcedFirstToken) {
  write("config.json", R"({"force_bos_token_to_be_generated": true, "bos_token_id": 3, "forced_bos_token_id": 9})");
  EXPECT_EQ(read().forced_bos_token_id, 3);
  for (const char* value : {"false", "null", "0"}) {
    write("config.json", concat(R"({"bos_token_id": 3, "force_bos_token_to_be_generated": )", value, "}"));
    EXPECT_EQ(read().forced_bos_token_id, -1) << value;
  }
  write("config.json", R"({"force_bos_token_to_be_generated": true, "forced_bos_token_id": 9})");
  EXPECT_EQ(read().forced_bos_token_id, -1);  // there is no such token
  write("config.json", R"({"force_bos_token_to_be_generated": true, "bos_token_id": 3})");
  write("generation_config.json", R"({"bos_token_id": 4})");
  EXPECT_EQ(read().forced_bos_token_id, -1);  // config.json has no say any more
  write("generation_config.json", R"({"bos_token_id": 4, "force_bos_token_to_be_generated": true})");
  EXPECT_EQ(read().forced_bos_token_id, -1);
  write("generation_config.json",
        R"({"_from_model_config": true, "bos_token_id": 4, "force_bos_token_to_be_generated": true})");
  EXPECT_EQ(read().forced_bos_token_id, 4);
}

TEST_F(SettingsTest, WhatWeftDoesNotHaveIsRefused) {
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words, const std::string& json) {
    write("generation_config.json", json);
    test::expect_error(kind, words, [&] { read(); });
  };
  refused(ErrorKind::kUnsupported, {"generation_config.json", "diversity_penalty", "0.5"},
          R"({"diversity_penalty": 0.5})");
  refused(ErrorKind::kUnsupported, {"watermarking_config"}, R"({"watermarking_config": {"bias": 2}})");
  refused(ErrorKind::kFormat, {"generation_config.json", "num_beams", "integer"}, R"({"num_beams": "four"})");
  refused(ErrorKind::kFormat, {"bad_words_ids"}, R"({"bad_words_ids": [[]]})");
  refused(ErrorKind::kFormat, {"bad_words_ids"}, R"({"bad_words_ids": 3})");
  refused(ErrorKind::kFormat, {"sequence_bias"}, R"({"sequence_bias": [[[1], "x"]]})");
  refused(ErrorKind::kArgument, {"top_p", "at most 1"}, R"({"top_p": 7})");
  refused(ErrorKind::kFormat, {"object"}, "[]");
  refused(ErrorKind::kArgument, {"generation_config.json", "bad_words_ids", "4;5"}, R"({"bad_words_ids": ["4;5"]})");
  refused(ErrorKind::kArgument, {"generation_config.json", "sequence_bias"}, R"({"sequence_bias": ["4"]})");
}

TEST_F(SettingsTest, NothingUnknownIsUsedInSilence) {
  write("generation_config.json", R"({"novel_setting": 4, "use_cache": true})");
  testing::internal::CaptureStderr();
  read();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("'novel_setting'"), std::string::npos) << said;
  EXPECT_EQ(said.find("use_cache"), std::string::npos) << said;
}

TEST(Lengths, AreThoseOfTransformers) {
  GenerationConfig config;
  EXPECT_EQ(lengths_of(config, 3, std::nullopt).maximum, 23);
  EXPECT_EQ(lengths_of(config, 3, 9).maximum, 10);  // the default alone is cut to the positions
  config.max_length = 8;
  config.min_length = 5;
  EXPECT_EQ(lengths_of(config, 3, std::nullopt).maximum, 8);
  EXPECT_EQ(lengths_of(config, 3, std::nullopt).minimum, 5);
  test::expect_error(ErrorKind::kArgument, {"max_length = 8", "6 positions"}, [&] { lengths_of(config, 3, 6); });
  config.max_new_tokens = 2;
  config.min_new_tokens = 1;
  EXPECT_EQ(lengths_of(config, 3, std::nullopt).maximum, 5);
  EXPECT_EQ(lengths_of(config, 3, std::nullopt).minimum, 4);
  test::expect_error(ErrorKind::kArgument, {"max_new_tokens = 2", "3"}, [&] { lengths_of(config, 3, 3); });
}

TEST(Lengths, FollowTheSourceWhereThatIsAsked) {
  GenerationConfig config;
  config.max_new_tokens_per_source = "1.5:4";
  EXPECT_EQ(lengths_of(config, 1, std::nullopt, 5).maximum, 1 + 7 + 4);
  EXPECT_EQ(lengths_of(config, 1, 8, 5).maximum, 9);  // no more than the positions
  EXPECT_EQ(lengths_of(config, 1, std::nullopt).maximum, 21);
  config.max_length = 6;
  EXPECT_EQ(lengths_of(config, 1, std::nullopt, 5).maximum, 6);
  EXPECT_EQ(lengths_of(config, 1, std::nullopt, 0).maximum, 5);
  config.max_new_tokens_per_source = "0:0";
  EXPECT_EQ(lengths_of(config, 1, std::nullopt, 5).maximum, 2);
  for (const char* text : {"2", ":16", "2:", "-1:3", "nan:3", "1e7:1", "2:-1", "2:1.5"}) {
    config.max_new_tokens_per_source = text;
    test::expect_error(ErrorKind::kArgument, {"file: max_new_tokens_per_source", "2:16", text},
                       [&] { validate(config, "file"); });
  }
}

TEST(Ids, BeyondTheVocabularyAreNamedByWhereTheyAreFrom) {
  GenerationConfig config;
  config.forced_bos_token_id = 3;
  config.bad_words_ids = {"2", "1,7"};
  const auto check = [&](std::int64_t vocabulary) {
    check_ids(config, vocabulary, [](std::string_view field) { return "file of " + std::string(field); });
  };
  check(8);
  test::expect_error(ErrorKind::kArgument, {"file of bad_words_ids: bad_words_ids names token 7", "has 7 tokens"},
                     [&] { check(7); });
  test::expect_error(ErrorKind::kArgument, {"file of forced_bos_token_id: ", "token 3", "last of which is 2"},
                     [&] { check(3); });
}

}  // namespace
}  // namespace weft::generation
