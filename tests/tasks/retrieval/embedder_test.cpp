// SPDX-License-Identifier: Apache-2.0
// What a directory says becomes vectors: modules over the model's own hidden states, prompts, limits, and what a caller
// says in their place.
#include "weft/tasks/embedding/embedder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "tasks/retrieval/small_directory.h"
#include "weft/checkpoint/sentence/sentence_directory.h"

namespace weft::tasks {
namespace {

namespace fs = std::filesystem;
using checkpoint::PoolingMode;
using checkpoint::PoolingModule;
using checkpoint::SentenceDirectory;
using formats::Json;
using models::Head;
using test::expect_error;

// The hidden states of a text by itself, [tokens, 16].
at::Tensor hidden_of_text(Embedder& embedder, const std::string& text) {
  const c10::InferenceMode no_graph;
  const text::Encoding encoding = embedder.model.tokenizer->encode_windows(text).front();
  models::EncoderInput input;
  input.input_ids = at::tensor(encoding.ids, at::kLong).unsqueeze(0);
  return embedder.model.model->hidden_states(input).squeeze(0);
}

void expect_near(const std::vector<float>& found, const at::Tensor& expected) {
  ASSERT_EQ(static_cast<std::int64_t>(found.size()), expected.numel());
  const at::Tensor wide = expected.to(at::kFloat).contiguous();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wide.const_data_ptr<float>()[i], 2e-6) << i;
  }
}

at::Tensor unit(const at::Tensor& vector) { return vector / vector.norm(); }

class EmbedderOf : public testing::Test {
 protected:
  EmbedderOf() { test::write_small_encoder(path(), Head::kNone); }

  fs::path path() const { return folder_ / "model"; }
  Embedder open(const EmbedOverrides& overrides = {}, std::int64_t max_length = 0) const {
    return open_embedder(path(), {.max_length = max_length}, overrides);
  }
  void write(const SentenceDirectory& sentence) const { checkpoint::write_sentence_directory(path(), sentence); }
  static SentenceDirectory of_modes(std::vector<PoolingMode> modes, bool include_prompt = true) {
    SentenceDirectory sentence;
    sentence.modules = {PoolingModule{.modes = std::move(modes), .width = 16, .include_prompt = include_prompt}};
    return sentence;
  }
  static std::vector<float> vector_of(Embedder& embedder, const std::string& text, const EmbedRun& run = {}) {
    const Document document{text};
    return embed_texts(embedder, {&document, 1}, run).front().vector;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(EmbedderOf, APlainEncoderIsItsMean) {
  Embedder embedder = open();
  expect_near(vector_of(embedder, "the loom weaves"), hidden_of_text(embedder, "the loom weaves").mean(0));
  EXPECT_EQ(width(embedder), 16);
  EXPECT_EQ(applied(embedder), Json::parse(R"({"pooling": "mean", "normalized": false, "dimensions": 16,
                                               "max_length": 64})"));
}

TEST_F(EmbedderOf, ADirectoryFollowsItsModules) {
  SentenceDirectory sentence = of_modes({PoolingMode::kCls, PoolingMode::kMean});
  const at::Tensor weight = at::arange(64, at::kFloat).view({2, 32}) / 64;
  sentence.modules.emplace_back(checkpoint::DenseModule{.weight = weight, .bias = at::tensor({0.5F, -0.5F})});
  sentence.modules.emplace_back(checkpoint::NormalizeModule{});
  sentence.max_seq_length = 9;
  write(sentence);
  Embedder embedder = open();
  const at::Tensor states = hidden_of_text(embedder, "the loom weaves");
  const at::Tensor pooled = at::cat({states[0], states.mean(0)});
  const at::Tensor dense = at::tanh(weight.matmul(pooled) + at::tensor({0.5F, -0.5F}));
  expect_near(vector_of(embedder, "the loom weaves"), unit(dense));
  EXPECT_EQ(embedder.model.maximum, 9);
  EXPECT_EQ(open({}, 12).model.maximum, 12);
  EXPECT_EQ(applied(embedder.recipe), Json::parse(R"({"pooling": ["cls", "mean"], "normalized": true,
    "modules": "Dense 32 -> 2 (Tanh), Normalize", "dimensions": 2})"));
  // As tensors, with gradients.
  const at::Tensor leaf = states.clone().unsqueeze(0).requires_grad_(true);
  const at::Tensor vector = embed_tensor(embedder.recipe, leaf, at::ones({1, states.size(0)}, at::kLong));
  expect_near(vector_of(embedder, "the loom weaves"), vector.detach().squeeze(0));
  vector.sum().backward();
  EXPECT_TRUE(leaf.grad().defined());
  sentence.max_seq_length = 2;
  write(sentence);
  expect_error(ErrorKind::kFormat, {"max_seq_length must be more than the 2 special tokens", "found 2"},
               [&] { open(); });
}

TEST_F(EmbedderOf, FlagsGoOverTheDirectory) {
  SentenceDirectory sentence = of_modes({PoolingMode::kMean});
  sentence.modules.emplace_back(checkpoint::NormalizeModule{});
  sentence.truncate_dim = 4;
  write(sentence);
  Embedder as_it_is = open();
  const at::Tensor mean = hidden_of_text(as_it_is, "the loom").mean(0);
  expect_near(vector_of(as_it_is, "the loom"), unit(mean).narrow(0, 0, 4));
  EXPECT_FALSE(is_normalized(as_it_is.recipe));  // the cut comes behind the norm
  Embedder whole = open({.normalize = false, .dimensions = 0});
  expect_near(vector_of(whole, "the loom"), mean);
  Embedder cut = open({.normalize = true, .dimensions = 8});
  expect_near(vector_of(cut, "the loom"), unit(mean.narrow(0, 0, 8)));
  expect_near(vector_of(cut, "the loom", {.request = {.normalize = false, .dimensions = 3}}), mean.narrow(0, 0, 3));
  Embedder last = open({.pooling = {PoolingMode::kLastToken}, .normalize = false, .dimensions = 0});
  expect_near(vector_of(last, "the loom"), hidden_of_text(last, "the loom")[-1]);
  expect_error(ErrorKind::kArgument, {"dimensions must be 1 to 16", "found 17"}, [&] { open({.dimensions = 17}); });
  expect_error(ErrorKind::kArgument, {"dimensions must be 1 to 16", "found 99"},
               [&] { vector_of(whole, "a", {.request = {.dimensions = 99}}); });
}

TEST_F(EmbedderOf, PromptsStandBeforeATextAndMayNotCount) {
  SentenceDirectory sentence = of_modes({PoolingMode::kMean, PoolingMode::kCls, PoolingMode::kWeightedMean}, false);
  sentence.prompts = {{"query", "the loom "}, {"other", "we "}};
  sentence.default_prompt_name = "query";
  write(sentence);
  Embedder embedder = open();
  const at::Tensor states = hidden_of_text(embedder, "the loom weaves");
  const std::int64_t prompt = embedder.model.tokenizer->encode_windows("the loom ").front().ids.size() - 1;
  const at::Tensor own = states.narrow(0, prompt, states.size(0) - prompt);
  const at::Tensor weights = at::arange(prompt + 1, states.size(0) + 1, at::kFloat).unsqueeze(1);
  expect_near(vector_of(embedder, "weaves"), at::cat({own.mean(0), own[0], (own * weights).sum(0) / weights.sum()}));
  // A request names another one, or none.
  EXPECT_EQ(vector_of(embedder, "weaves", {.request = {.prompt_name = "other"}}),
            vector_of(embedder, "weaves", {.request = {.prompt = "we "}}));
  EXPECT_EQ(vector_of(embedder, "weaves", {.request = {.prompt = ""}}).size(), 48U);
  expect_error(ErrorKind::kArgument, {"no prompt is called 'qury'", "'other', 'query'"},
               [&] { open({.prompt_name = "qury"}); });
  expect_error(ErrorKind::kArgument, {"cannot be given together"},
               [&] { open({.prompt = "a", .prompt_name = "query"}); });
}

TEST_F(EmbedderOf, BatchesAndOrderChangeNothing) {
  write(of_modes({PoolingMode::kMean, PoolingMode::kMax, PoolingMode::kLastToken}));
  Embedder embedder = open();
  std::vector<Document> documents;
  for (const char* text :
       {"the loom weaves the thread, and we see", "hello", "the", "", "said we the loom loom loom"}) {
    documents.push_back({text});
  }
  const auto together = embed_texts(embedder, documents, {.run = {.batch = {.rows = 32}}});
  for (std::size_t i = 0; i < documents.size(); ++i) {
    expect_near(together[i].vector, at::tensor(vector_of(embedder, documents[i].first)));
  }
}

TEST_F(EmbedderOf, LongTextsAreReadInWindows) {
  write(of_modes({PoolingMode::kMean, PoolingMode::kMax, PoolingMode::kCls}));
  Embedder embedder = open({}, 8);
  const Document text{"the loom weaves the thread and we see the loom"};
  const TextVector whole = embed_texts(embedder, {&text, 1}, {.run = {.stride = 2}}).front();
  EXPECT_GT(whole.metadata["windows"].get<int>(), 1);
  std::int64_t tokens = 0;
  std::int64_t windows = 0;
  visit_token_states(embedder, {&text, 1}, {.run = {.stride = 2}}, [&](const TokenStates& states) {
    tokens += states.end - states.begin;
    windows += 1;
    EXPECT_EQ(states.place == 0, states.window == 0);
  });
  EXPECT_EQ(tokens, whole.metadata["tokens"].get<std::int64_t>());
  EXPECT_EQ(windows, whole.metadata["windows"].get<std::int64_t>());
  const TextVector cut = embed_texts(embedder, {&text, 1}, {.run = {.truncate = true}}).front();
  EXPECT_EQ(cut.metadata["truncated"].get<std::int64_t>(), tokens - 8);
  const auto states = embed_token_states(embedder, {&text, 1}, {.run = {.stride = 2}});
  EXPECT_EQ(static_cast<std::int64_t>(states.front().result.size()), tokens);
}

TEST_F(EmbedderOf, ATransformerInAFolderOfItsOwn) {
  write(of_modes({PoolingMode::kMax}));
  Embedder flat = open();
  const std::vector<float> expected = vector_of(flat, "the loom");
  const fs::path root = folder_ / "old";
  fs::create_directories(root);
  fs::rename(path() / "1_Pooling", root / "1_Pooling");
  fs::rename(path(), root / "0_Transformer");
  fs::rename(root / "0_Transformer" / "modules.json", root / "modules.json");
  Json list = formats::read_json(root / "modules.json");
  list[0]["path"] = "0_Transformer";
  write_file_atomically(root / "modules.json", list.dump());
  Embedder embedder = open_embedder(root, {});
  EXPECT_EQ(vector_of(embedder, "the loom"), expected);
  EXPECT_EQ(checkpoint::open_model(root).root(), root);
}

TEST_F(EmbedderOf, WhatDoesNotFitIsRefused) {
  SentenceDirectory sentence;
  sentence.modules = {PoolingModule{.width = 12}};
  write(sentence);
  expect_error(ErrorKind::kFormat, {"the Pooling takes vectors of 12 numbers", "gives 16"}, [&] { open(); });
  sentence = of_modes({PoolingMode::kMean});
  sentence.modules.emplace_back(checkpoint::DenseModule{.weight = at::ones({2, 16}), .bias = {}});
  write(sentence);
  expect_error(ErrorKind::kArgument, {"the Dense takes vectors of 16 numbers", "gives 32", "cls, mean"},
               [&] { open({.pooling = {PoolingMode::kCls, PoolingMode::kMean}}); });
  sentence.modules.clear();
  write(sentence);
  expect_error(ErrorKind::kArgument, {"no Pooling"}, [&] { open(); });
  EXPECT_EQ(width(open({.pooling = {PoolingMode::kMean}})), 16);
  sentence.library_class = "CrossEncoder";
  write(sentence);
  expect_error(ErrorKind::kArgument, {"cross-encoder"}, [&] { open(); });
}

TEST_F(EmbedderOf, ACrossEncoderIsRefusedWithoutModulesToo) {
  test::write_small_encoder(folder_ / "cross", Head::kSequenceClassification, 1);
  expect_error(ErrorKind::kArgument, {"cross-encoder"}, [&] { open_embedder(folder_ / "cross", {}); });
  EXPECT_EQ(width(open_embedder(folder_ / "cross", {}, {.pooling = {PoolingMode::kMean}})), 16);
}

// What sentence-transformers made (tests/fixtures/make/sentence_directories.py); texts beyond max_seq_length are cut
// there, as the library cuts them.
TEST(SentenceFixtures, HaveTheVectorsOfTheLibrary) {
  const fs::path fixtures = fs::path(WEFT_TEST_DATA_DIR) / "sentence";
  for (const char* name : {"mean", "old", "every_mode", "prompt", "named_prompt"}) {
    SCOPED_TRACE(name);
    const test::TemporaryDirectory folder;
    const fs::path directory = folder / "model";
    fs::copy(fixtures / name, directory, fs::copy_options::recursive);
    const fs::path inner = directory / "0_Transformer";
    fs::copy(fixtures / "transformer", fs::exists(inner) ? inner : directory, fs::copy_options::recursive);
    const Json expected = formats::read_json(fixtures / name / "expected.json");
    EmbedRun run{.run = {.truncate = true}};
    const Json& said = expected["encode"];
    if (!said.empty()) {
      run.request = {.normalize = said["normalize_embeddings"].get<bool>(),
                     .dimensions = said["truncate_dim"].get<std::int64_t>(),
                     .prompt_name = said["prompt_name"].get<std::string>()};
    }
    std::vector<Document> documents;
    for (const Json& text : expected["texts"]) {
      documents.push_back({text.get<std::string>()});
    }
    Embedder embedder = open_embedder(directory, {});
    const std::vector<TextVector> found = embed_texts(embedder, documents, run);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto vector = expected["vectors"][i].get<std::vector<float>>();
      ASSERT_EQ(found[i].vector.size(), vector.size());
      for (std::size_t number = 0; number < vector.size(); ++number) {
        EXPECT_NEAR(found[i].vector[number], vector[number], 1e-5) << i << ' ' << number;
      }
    }
  }
}

}  // namespace
}  // namespace weft::tasks
