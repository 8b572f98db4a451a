// SPDX-License-Identifier: Apache-2.0
// What modules.json and its kin say, in both generations of names; what is wrong is one line that names the place.
#include "weft/checkpoint/sentence/sentence_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/sentence/mean_modules.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using test::expect_error;

constexpr const char* kOld = "sentence_transformers.models.";

class Sentences : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content, const fs::path& directory = {}) const {
    const fs::path file = (directory.empty() ? folder_.path() : directory) / name;
    fs::create_directories(file.parent_path());
    write_file_atomically(file, content);
  }
  // Kinds with their folders; the transformer is the root.
  void list(const std::vector<std::pair<std::string, std::string>>& modules) const {
    Json json = Json::array({{{"idx", 0}, {"name", "0"}, {"path", ""}, {"type", concat(kOld, "Transformer")}}});
    for (const auto& [kind, folder] : modules) {
      json.push_back({{"idx", json.size()}, {"name", folder}, {"path", folder}, {"type", concat(kOld, kind)}});
    }
    write("modules.json", json.dump());
  }
  void pooling(const std::string& members, const std::string& folder = "1_Pooling") const {
    write(folder + "/config.json", R"({"word_embedding_dimension": 4)" + members + "}");
  }
  void dense(const std::string& folder, std::int64_t in, std::int64_t out, const std::string& members = "") const {
    write(folder + "/config.json", concat(R"({"in_features": )", in, R"(, "out_features": )", out, members, "}"));
    save_tensors(
        folder_ / folder / "model.safetensors",
        {{"linear.weight", at::arange(in * out, at::kFloat).view({out, in})}, {"linear.bias", at::ones({out})}});
  }
  SentenceDirectory read() const { return read_sentence_directory(folder_.path()).value(); }
  void refuses(ErrorKind kind, std::initializer_list<std::string_view> words) const {
    expect_error(kind, words, [&] { read_sentence_directory(folder_.path()); });
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Sentences, AreNothingWithoutAList) {
  EXPECT_FALSE(is_sentence_directory(folder_.path()));
  EXPECT_FALSE(read_sentence_directory(folder_.path()));
  EXPECT_EQ(transformer_folder(folder_.path()), folder_.path());
}

TEST_F(Sentences, OfTheFirstGeneration) {
  list({{"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}, {"Normalize", "3_Normalize"}});
  pooling(R"(, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true, "pooling_mode_max_tokens": false)");
  dense("2_Dense", 8, 3, R"(, "bias": true, "activation_function": "torch.nn.modules.activation.GELU")");
  write("sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": true})");
  const SentenceDirectory found = read();
  EXPECT_EQ(modules_text(found.modules), "cls, mean pooling, Dense 8 -> 3 (GELU), Normalize");
  EXPECT_EQ(found.transformer, folder_.path());
  EXPECT_EQ(found.max_seq_length, 256);
  EXPECT_TRUE(found.do_lower_case);
  EXPECT_EQ(found.similarity, "cosine");
  EXPECT_TRUE(std::get<PoolingModule>(found.modules[0]).include_prompt);
  EXPECT_EQ(std::get<DenseModule>(found.modules[1]).weight.sizes(), (std::vector<std::int64_t>{3, 8}));
}

TEST_F(Sentences, OfTheSecondGeneration) {
  write("modules.json", R"([{"idx": 0, "name": "0", "path": "0_Transformer",
      "type": "sentence_transformers.base.modules.transformer.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling",
      "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.base.modules.normalize.Normalize"}])");
  write("1_Pooling/config.json",
        R"({"embedding_dimension": 4, "pooling_mode": ["lasttoken", "cls"], "include_prompt": false})");
  write("2_Normalize/config.json", R"({"module_input_name": "sentence_embedding"})");
  write("0_Transformer/sentence_roberta_config.json", R"({"max_seq_length": 12})");
  write("config_sentence_transformers.json", R"({"model_type": "SentenceTransformer", "truncate_dim": 3,
    "prompts": {"query": "query: ", "none": null}, "default_prompt_name": "query", "similarity_fn_name": "dot"})");
  const SentenceDirectory found = read();
  EXPECT_EQ(modules_text(found.modules), "lasttoken, cls pooling without the prompt, Normalize");
  EXPECT_EQ(found.transformer, folder_ / "0_Transformer");
  EXPECT_EQ(transformer_folder(folder_.path()), folder_ / "0_Transformer");
  EXPECT_EQ(found.max_seq_length, 12);
  EXPECT_EQ(found.prompts.at("query"), "query: ");
  EXPECT_EQ(found.prompts.at("none"), "");
  EXPECT_EQ(found.default_prompt_name, "query");
  EXPECT_EQ(found.similarity, "dot");
  EXPECT_EQ(found.truncate_dim, 3);
}

TEST_F(Sentences, WithoutAModeAreTheirMean) {
  list({{"Pooling", "1_Pooling"}});
  pooling("");
  EXPECT_EQ(modules_text(read().modules), "mean pooling");
  pooling(R"(, "pooling_mode_mean_tokens": false)");
  EXPECT_EQ(modules_text(read().modules), "mean pooling");
}

TEST_F(Sentences, ComeBackAsTheyWereWritten) {
  SentenceDirectory sentence;
  sentence.max_seq_length = 99;
  sentence.prompts = {{"a", "b: "}};
  sentence.default_prompt_name = "a";
  sentence.truncate_dim = 2;
  sentence.similarity = "manhattan";
  const at::Tensor weight = at::arange(12, at::kFloat).view({3, 4});
  sentence.modules = {PoolingModule{.modes = {PoolingMode::kMax}, .width = 4, .include_prompt = false},
                      DenseModule{.weight = weight,
                                  .bias = {},
                                  .activation = find_torch_activation("ReLU"),
                                  .use_residual = true,
                                  .residual = weight + 1},
                      LayerNormModule{at::full({3}, 2.0F), at::full({3}, 3.0F)}, DropoutModule{0.25},
                      NormalizeModule{}};
  write_sentence_directory(folder_.path(), sentence);
  const SentenceDirectory found = read();
  EXPECT_EQ(modules_text(found.modules), modules_text(sentence.modules));
  EXPECT_EQ(found.max_seq_length, 99);
  EXPECT_EQ(found.prompts, sentence.prompts);
  EXPECT_EQ(found.default_prompt_name, "a");
  EXPECT_EQ(found.truncate_dim, 2);
  EXPECT_EQ(found.similarity, "manhattan");
  const auto& dense = std::get<DenseModule>(found.modules[1]);
  EXPECT_TRUE(dense.weight.equal(weight));
  EXPECT_TRUE(dense.residual.equal(weight + 1));
  EXPECT_FALSE(dense.bias.defined());
  EXPECT_TRUE(std::get<LayerNormModule>(found.modules[2]).bias.equal(at::full({3}, 3.0F)));
  EXPECT_EQ(std::get<DropoutModule>(found.modules[3]).rate, 0.25);
  EXPECT_FALSE(fs::exists(folder_ / "5_Normalize"));
  // Modes in another order than the flags' can only be said as a list.
  std::get<PoolingModule>(sentence.modules[0]).modes = {PoolingMode::kMean, PoolingMode::kCls};
  sentence.modules.resize(1);
  write_sentence_directory(folder_.path(), sentence);
  EXPECT_EQ(modules_text(read().modules), "mean, cls pooling without the prompt");
}

TEST_F(Sentences, HaveAMean) {
  std::vector<fs::path> directories;
  for (const float value : {1.0F, 4.0F}) {
    SentenceDirectory sentence;
    sentence.modules = {PoolingModule{.width = 2},
                        DenseModule{.weight = at::full({1, 2}, value), .bias = at::full({1}, value)}};
    directories.push_back(folder_ / concat("model", value));
    fs::create_directories(directories.back());
    write_sentence_directory(directories.back(), sentence);
  }
  const auto mean = mean_of_modules(directories);
  ASSERT_TRUE(mean);
  EXPECT_TRUE(std::get<DenseModule>(mean->modules[1]).weight.equal(at::full({1, 2}, 2.5F)));
  directories.push_back(folder_ / "plain");
  fs::create_directories(directories.back());
  expect_error(ErrorKind::kArgument, {"same modules", "plain"}, [&] { mean_of_modules(directories); });
  EXPECT_FALSE(mean_of_modules(std::vector<fs::path>{folder_ / "plain"}));
}

TEST_F(Sentences, WithAListThatIsWrong) {
  write("modules.json", "{}");
  refuses(ErrorKind::kFormat, {"modules.json", "a list of modules"});
  write("modules.json", "[]");
  refuses(ErrorKind::kFormat, {"modules.json", "a list of modules"});
  list({{"WordWeights", "1_WordWeights"}});
  refuses(ErrorKind::kUnsupported, {"module 1 ('WordWeights')", "Pooling, Dense", "found 'WordWeights'"});
  write("modules.json", R"([{"idx": 0, "path": "", "type": "custom_st.Transformer"}])");
  refuses(ErrorKind::kUnsupported, {"module 0", "'sentence_transformers.'", "'custom_st.Transformer'"});
  write("modules.json", R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.BoW"}])");
  refuses(ErrorKind::kUnsupported, {"the first module must be a Transformer", "'BoW'"});
  write("modules.json", R"([{"idx": 0, "path": "../up", "type": "sentence_transformers.models.Transformer"}])");
  refuses(ErrorKind::kFormat, {"module 0", "below the directory", "'../up'"});
  write("modules.json", R"([{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Normalize"}])");
  refuses(ErrorKind::kFormat, {"module 1", "idx must be more than 0"});
  list({{"Dense", "1_Dense"}, {"Pooling", "2_Pooling"}});
  fs::create_directories(folder_ / "1_Dense");
  fs::create_directories(folder_ / "2_Pooling");
  refuses(ErrorKind::kFormat, {"module 1 ('Dense')", "before the Pooling"});
}

TEST_F(Sentences, WithFoldersThatAreAbsent) {
  list({{"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}});
  refuses(ErrorKind::kFormat, {"module 1 ('Pooling')", "1_Pooling", "is not there"});
  fs::create_directories(folder_ / "1_Pooling");
  refuses(ErrorKind::kFormat, {"module 1 ('Pooling')", "1_Pooling/config.json"});
  pooling("");
  EXPECT_EQ(read().modules.size(), 2U);
  list({{"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
  write("2_Dense/config.json", R"({"in_features": 4, "out_features": 2})");
  refuses(ErrorKind::kFormat, {"module 2 ('Dense')", "model.safetensors or pytorch_model.bin"});
}

TEST_F(Sentences, WithModulesThatAreWrong) {
  list({{"Pooling", "1_Pooling"}, {"Dense", "2_Dense"}});
  pooling(R"(, "pooling_mode": "median")");
  dense("2_Dense", 4, 2);
  refuses(ErrorKind::kFormat, {"1_Pooling/config.json", "pooling_mode", "'median'"});
  pooling(R"(, "pooling_mode_median_tokens": true)");
  refuses(ErrorKind::kFormat, {"1_Pooling/config.json", "pooling_mode_median_tokens"});
  pooling("");
  dense("2_Dense", 6, 2);
  refuses(ErrorKind::kFormat, {"module 2 ('Dense')", "takes vectors of 6 numbers", "gives 4"});
  dense("2_Dense", 4, 2, R"(, "activation_function": "transformers.activations.GELUActivation")");
  refuses(ErrorKind::kUnsupported, {"2_Dense/config.json", "activation_function", "'transformers.activations"});
  dense("2_Dense", 4, 2, R"(, "module_input_name": "token_embeddings")");
  refuses(ErrorKind::kUnsupported, {"2_Dense/config.json", "module_input_name", "'token_embeddings'"});
  dense("2_Dense", 4, 2, R"(, "bias": false)");
  refuses(ErrorKind::kFormat, {"2_Dense/model.safetensors", "'linear.bias'"});
  dense("2_Dense", 4, 2, R"(, "use_residual": true)");
  refuses(ErrorKind::kFormat, {"2_Dense/model.safetensors", "'residual.weight' is missing"});
  dense("2_Dense", 4, 2);
  write("2_Dense/config.json", R"({"in_features": 4, "out_features": 3})");
  refuses(ErrorKind::kFormat, {"2_Dense/model.safetensors", "[2, 4]", "[3, 4]"});
}

TEST_F(Sentences, WithSettingsThatAreWrong) {
  list({{"Pooling", "1_Pooling"}});
  pooling("");
  const auto settings = [&](const char* json) { write("config_sentence_transformers.json", json); };
  settings(R"({"prompts": {"q": "q: "}, "default_prompt_name": "query"})");
  refuses(ErrorKind::kFormat, {"config_sentence_transformers.json", "default_prompt_name", "'query'"});
  settings(R"({"similarity_fn_name": "hamming"})");
  refuses(ErrorKind::kFormat, {"similarity_fn_name", "'hamming'"});
  settings(R"({"truncate_dim": 0})");
  refuses(ErrorKind::kFormat, {"truncate_dim must be at least 1"});
  settings(R"({"model_type": "SparseEncoder"})");
  refuses(ErrorKind::kUnsupported, {"model_type", "'SparseEncoder'"});
  settings("{}");
  write("sentence_bert_config.json", R"({"max_seq_length": 0})");
  refuses(ErrorKind::kFormat, {"sentence_bert_config.json", "max_seq_length must be at least 1"});
  write("sentence_bert_config.json", R"({"transformer_task": "text-generation"})");
  refuses(ErrorKind::kUnsupported, {"transformer_task", "'text-generation'"});
  write("sentence_bert_config.json", R"({"modality_config": {"text": {"method_output_name": "pooler_output"}}})");
  refuses(ErrorKind::kUnsupported, {"modality_config", "'pooler_output'"});
}

}  // namespace
}  // namespace weft::checkpoint
