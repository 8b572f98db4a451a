// SPDX-License-Identifier: Apache-2.0
// Encoder-decoder directories: what is written is read again, in Weft's own form and in every family's, and what is
// wrong is said.
#include "weft/checkpoint/encoder_decoder/directory.h"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include "checkpoint/encoder_fixture.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/files.h"
#include "weft/models/families/pair_rules.h"

namespace weft::checkpoint {
namespace {

models::EncoderDecoderConfig tiny_pair(std::string_view family) {
  models::EncoderDecoderConfig config = models::pair_rules(family).defaults;
  config.model_type = family;
  config.vocab_size = 24;
  config.d_model = 8;
  config.encoder_layers = 2;
  config.decoder_layers = 1;
  config.encoder_attention_heads = 2;
  config.decoder_attention_heads = 4;
  config.encoder_ffn_dim = 12;
  config.decoder_ffn_dim = 10;
  config.max_source_positions = 40;
  config.max_target_positions = family == "led" || family == "weft" ? 20 : 40;
  config.own.set("attention_window", std::vector<std::int64_t>{4});
  config.own.set("block_size", std::int64_t{4});
  config.own.set("num_random_blocks", std::int64_t{1});
  config.pad_token_id = 1;
  config.eos_token_id = 2;
  config.decoder_start_token_id = 2;
  return config;
}

models::EncoderDecoder make_tiny(const models::EncoderDecoderConfig& config) {
  torch::manual_seed(7);
  models::EncoderDecoder model(config);
  model->eval();
  return model;
}

models::SequencePair some_pair() {
  torch::manual_seed(8);
  const auto ids = [](std::int64_t length) { return at::randint(3, 24, {2, length}, at::TensorOptions(at::kLong)); };
  return {.input_ids = ids(35), .decoder_input_ids = ids(5)};
}

/// Each family, and those that differ in how they write tables with these in every relation.
std::vector<models::EncoderDecoderConfig> written_configs() {
  std::vector<models::EncoderDecoderConfig> configs{tiny_pair("pegasus"), tiny_pair("bigbird_pegasus"),
                                                    tiny_pair("led")};
  for (const char* family : {"weft", "marian", "bart"}) {
    for (const bool shares : {true, false}) {
      for (const bool ties : {true, false}) {
        models::EncoderDecoderConfig config = tiny_pair(family);
        config.share_embeddings = shares;
        config.tie_word_embeddings = ties;
        configs.push_back(config);
      }
    }
  }
  configs.push_back(tiny_pair("weft"));
  configs.back().norm_position = "pre";
  configs.back().normalize_embedding = false;
  configs.back().position_embedding = "sinusoidal";
  configs.back().scale_embedding = true;
  configs.push_back(tiny_pair("bart"));
  configs.back().encoder_attention = {"window(5) | global(1)"};
  return configs;
}

TEST(EncoderDecoderDirectory, WhatIsSavedHasTheSameBitsWhenItIsOpened) {
  const at::NoGradGuard without_gradients;
  const test::TemporaryDirectory folder;
  const models::SequencePair pair = some_pair();
  int number = 0;
  for (const models::EncoderDecoderConfig& config : written_configs()) {
    const std::string what = concat(config.model_type, " shares ", config.share_embeddings, " ties ",
                                    config.tie_word_embeddings, " ", config.norm_position);
    models::EncoderDecoder model = make_tiny(config);
    model->set_head_bias(at::ones({24}).index_fill_(0, at::ones({1}, at::kLong), -3.0));
    const std::filesystem::path path = folder / std::to_string(number++);
    save_encoder_decoder(path, model);
    const OpenedModel opened = open_model(path);
    EXPECT_TRUE(opened.can(Ability::kWrite));
    EXPECT_FALSE(opened.can(Ability::kRead));
    models::EncoderDecoder again = load_encoder_decoder(opened);
    EXPECT_TRUE(model->logits(pair).equal(again->logits(pair))) << what;
    EXPECT_EQ(again->config().eos_token_id, 2) << what;
    EXPECT_EQ(again->config().encoder_attention, config.encoder_attention) << what;
    EXPECT_EQ(models::pair_to_json(*again), formats::read_json(path / "config.json")) << what;
  }
}

TEST(EncoderDecoderDirectory, KeepsWhatIsNoFieldAndLeavesOutSecondNames) {
  const test::TemporaryDirectory folder;
  const test::EncoderFixture fixture("seq2seq/bart");
  const std::filesystem::path given = fixture.directory() / "config.json";
  formats::Json json = formats::read_json(given);
  json["num_hidden_layers"] = json["encoder_layers"];
  json["hidden_size"] = json["d_model"];
  json.erase("d_model");  // the second name alone will do
  json["num_beams"] = 3;
  json["task_specific_params"] = {{"summarization", {{"num_beams", 4}}}};
  write_file_atomically(given, json.dump());
  save_encoder_decoder(folder / "made", load_encoder_decoder(fixture.directory()));
  const formats::Json made = formats::read_json(folder / "made" / "config.json");
  EXPECT_EQ(made.at("num_beams"), 3);
  EXPECT_EQ(made.at("task_specific_params"), json["task_specific_params"]);
  EXPECT_FALSE(made.contains("num_hidden_layers"));
  EXPECT_EQ(made.at("d_model"), json["hidden_size"]);
  EXPECT_EQ(made.at("decoder_start_token_id"), 2);
}

TEST(EncoderDecoderDirectory, EncoderOptionsReplaceWhatTheConfigSays) {
  const at::NoGradGuard without_gradients;
  const test::TemporaryDirectory folder;
  save_encoder_decoder(folder / "led", make_tiny(tiny_pair("led")));
  save_encoder_decoder(folder / "blocks", make_tiny(tiny_pair("bigbird_pegasus")));
  EncoderDecoderLoadOptions options;
  options.encoder.attention = "window(3) | global(1)";
  models::EncoderDecoder model = load_encoder_decoder(folder / "led", options);
  const models::SequencePair pair = some_pair();
  model->logits(pair);
  EXPECT_EQ(model->computed().front().second, "window(3) | global(1)");
  // Without others, the first token of an LED is global, and the result says so.
  models::EncoderDecoder led = load_encoder_decoder(folder / "led");
  models::SequencePair named = pair;
  named.global_attention_mask = at::zeros({2, 35}, at::kLong);
  const at::Tensor none = led->logits(named);
  EXPECT_EQ(led->computed().back(), (std::pair<std::string, std::string>{"global", "no position"}));
  named.global_attention_mask.select(1, 0).fill_(1);
  EXPECT_TRUE(led->logits(named).equal(led->logits(pair)));
  EXPECT_EQ(led->computed().back().first, "global");
  EXPECT_FALSE(none.equal(led->logits(pair)));
  // Behind padding it is the first token of the text, and a row of padding alone has none.
  models::SequencePair padded = pair;
  padded.attention_mask = at::ones({2, 35}, at::kLong);
  padded.attention_mask.narrow(1, 0, 3).zero_();
  named.attention_mask = padded.attention_mask;
  named.global_attention_mask = at::zeros({2, 35}, at::kLong);
  named.global_attention_mask.select(1, 3).fill_(1);
  EXPECT_TRUE(led->logits(padded).equal(led->logits(named)));
  options.encoder.attention.clear();
  options.encoder.fields = {{"block_size", 8}};
  test::expect_error(ErrorKind::kArgument, {"block_size", "bigbird_pegasus", "led"},
                     [&] { load_encoder_decoder(folder / "led", options); });
  options.encoder.random = "hf-eval";
  options.encoder.fields = {{"block_size", 2}};
  models::EncoderDecoder blocks = load_encoder_decoder(folder / "blocks", options);
  blocks->logits(pair);
  EXPECT_NE(blocks->computed().front().second.find("block(2"), std::string::npos);
  EXPECT_EQ(blocks->computed().back().second, "hf-eval");
}

struct Damage {
  const char* pointer;
  formats::Json value;
  ErrorKind kind;
  std::vector<std::string_view> words;
};

TEST(EncoderDecoderDirectory, ADamagedConfigIsOneClearError) {
  const test::EncoderFixture fixture("seq2seq/marian_apart");
  const std::filesystem::path path = fixture.directory() / "config.json";
  const formats::Json good = formats::read_json(path);
  const std::vector<Damage> all{
      {"/vocab_size", 21, ErrorKind::kFormat, {"embed_tokens", "[20, 8]", "[21, 8]"}},
      {"/decoder_vocab_size", 18, ErrorKind::kFormat, {"embed_tokens", "[17, 8]", "[18, 8]"}},
      {"/decoder_vocab_size", 2, ErrorKind::kArgument, {"decoder_start_token_id 2", "decoder_vocab_size 2"}},
      {"/share_encoder_decoder_embeddings", true, ErrorKind::kArgument, {"share_embeddings", "17", "20"}},
      {"/d_model", 9, ErrorKind::kArgument, {"d_model 9", "encoder_attention_heads"}},
      {"/encoder_layers", "two", ErrorKind::kFormat, {"config.json", "encoder_layers"}},
      {"/encoder_layers", 3, ErrorKind::kFormat, {"encoder.layers.2.", "missing"}},
      {"/decoder_layers", 1, ErrorKind::kFormat, {"decoder.layers.1.", "not part of"}},
      {"/pad_token_id", 18, ErrorKind::kArgument, {"pad_token_id 18", "decoder_vocab_size 17"}},
      {"/is_decoder", true, ErrorKind::kUnsupported, {"is_decoder", "marian"}},
      {"/architectures", formats::Json::array({"MarianForCausalLM"}), ErrorKind::kUnsupported, {"MarianMTModel"}},
      {"/encoder_attention",
       formats::Json::array({"full", "full", "full"}),
       ErrorKind::kArgument,
       {"encoder_attention", "2 layers, found 3"}},
      {"/decoder_attention", formats::Json::array({"global(input)"}), ErrorKind::kUnsupported, {"decoder", "input"}},
      {"/model_type", "bert", ErrorKind::kUnsupported, {"is_encoder_decoder"}},
  };
  for (const Damage& damage : all) {
    formats::Json json = good;
    json[formats::Json::json_pointer(damage.pointer)] = damage.value;
    write_file_atomically(path, json.dump());
    SCOPED_TRACE(damage.pointer);
    const bool as_encoder = std::string_view(damage.pointer) == "/model_type";
    const std::string said = test::expect_error(damage.kind, {}, [&] {
      as_encoder ? static_cast<void>(load_encoder(fixture.directory()))
                 : static_cast<void>(load_encoder_decoder(fixture.directory()));
    });
    for (const std::string_view word : damage.words) {
      EXPECT_NE(said.find(word), std::string::npos) << word << " is not in: " << said;
    }
  }
}

TEST(EncoderDecoderDirectory, OtherCommandsSayWhatItIs) {
  const test::TemporaryDirectory folder;
  save_encoder_decoder(folder / "own", make_tiny(tiny_pair("weft")));
  save_encoder_decoder(folder / "bart", make_tiny(tiny_pair("bart")));
  for (const char* name : {"own", "bart"}) {
    test::expect_error(ErrorKind::kUnsupported, {"is an encoder-decoder", "expected an encoder"},
                       [&] { load_encoder_config(folder / name); });
    test::expect_error(ErrorKind::kFormat, {"is an encoder-decoder"}, [&] { load_config(folder / name); });
  }
  const test::EncoderFixture bert("encoders/bert_none");
  test::expect_error(ErrorKind::kUnsupported, {"encoder-decoder's", "marian, bart", "'bert'"},
                     [&] { load_encoder_decoder(bert.directory()); });
}

TEST(EncoderDecoderDirectory, MisshapenBiasAndMissingTables) {
  const test::EncoderFixture fixture("seq2seq/bart");
  const std::filesystem::path path = fixture.directory() / "model.safetensors";
  const NamedTensors stored = load_tensors(path);
  const auto without = [&](std::string_view name) {
    NamedTensors rest;
    std::copy_if(stored.begin(), stored.end(), std::back_inserter(rest),
                 [&](const auto& entry) { return entry.first != name; });
    return rest;
  };
  NamedTensors biased = without("final_logits_bias");
  biased.emplace_back("final_logits_bias", at::zeros({1, 19}));
  save_tensors(path, biased);
  test::expect_error(ErrorKind::kFormat, {"final_logits_bias", "[1, 19]", "[1, 20]"},
                     [&] { load_encoder_decoder(fixture.directory()); });
  biased.back().second = at::zeros({1, 20}, at::kLong);
  save_tensors(path, biased);
  test::expect_error(ErrorKind::kFormat, {"final_logits_bias", "I64", "F32"},
                     [&] { load_encoder_decoder(fixture.directory()); });
  biased.back().second = at::ones({1, 20}) / 0;
  save_tensors(path, biased);
  EXPECT_TRUE(load_encoder_decoder(fixture.directory())->head_bias().defined());
  EncoderDecoderLoadOptions checked;
  checked.check_finite = true;
  test::expect_error(ErrorKind::kNumeric, {"final_logits_bias", "NaN"},
                     [&] { load_encoder_decoder(fixture.directory(), checked); });
  save_tensors(path, without("final_logits_bias"));
  EXPECT_FALSE(load_encoder_decoder(fixture.directory())->head_bias().defined());
  save_tensors(path, without("model.shared.weight"));
  test::expect_error(ErrorKind::kFormat, {"no token embeddings", "model.shared.weight", "bart"},
                     [&] { load_encoder_decoder(fixture.directory()); });
}

TEST(EncoderDecoderDirectory, ATiedHeadThatIsNotWrittenIsTheSharedTable) {
  const test::EncoderFixture fixture("seq2seq/bart");
  const std::filesystem::path path = fixture.directory() / "model.safetensors";
  NamedTensors stored = load_tensors(path);
  const auto shared = std::find_if(stored.begin(), stored.end(), [](const auto& entry) {
                        return entry.first == "model.shared.weight";
                      })->second;
  stored.emplace_back("model.encoder.embed_tokens.weight", shared + 1);
  stored.emplace_back("model.decoder.embed_tokens.weight", shared + 2);
  save_tensors(path, stored);
  models::EncoderDecoder model = load_encoder_decoder(fixture.directory());
  const auto parameters = model->named_parameters();
  EXPECT_TRUE(parameters["head"].equal(shared));
  EXPECT_TRUE(parameters["encoder.embeddings.tokens"].equal(shared + 1));
  EXPECT_TRUE(parameters["decoder.embeddings.tokens"].equal(shared + 2));
}

TEST(PairRules, TheTableAndTheNamesAgree) {
  std::size_t at = 0;
  for (const models::Family* family : models::pair_families()) {
    ASSERT_LT(at, models::kEncoderDecoderTypes.size());
    EXPECT_EQ(family->name, models::kEncoderDecoderTypes[at++]);
    EXPECT_EQ(family->pair->defaults.model_type, family->name);
  }
  EXPECT_EQ(at, models::kEncoderDecoderTypes.size());
}

}  // namespace
}  // namespace weft::checkpoint
