// SPDX-License-Identifier: Apache-2.0
// Hugging Face directories: what is tolerated as transformers tolerates it, what is refused and how it is named, and
// what is written.
#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <random>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/encoder_weights.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/big_bird/config.h"

namespace weft::checkpoint {
namespace {

using models::EncoderModel;
using models::Head;

class EncoderDirectory : public ::testing::Test {
 protected:
  const std::filesystem::path& save(const std::string& family, Head head) {
    model_ = test::small_encoder(test::small_encoder_config(family), head);
    save_encoder(directory_, model_);
    return directory_;
  }

  /// Writes the weights again with a change.
  void rewrite(const std::function<void(NamedTensors&)>& change) const {
    NamedTensors tensors = load_tensors(directory_ / "model.safetensors");
    change(tensors);
    save_tensors(directory_ / "model.safetensors", tensors);
  }

  static void rename(NamedTensors& tensors, const std::string& from, const std::string& to) {
    for (auto& [name, tensor] : tensors) {
      if (const auto at = name.find(from); at != std::string::npos) {
        name.replace(at, from.size(), to);
      }
    }
  }

  void edit_config(const std::function<void(formats::Json&)>& change) const {
    formats::Json json = formats::read_json(directory_ / "config.json");
    change(json);
    write_file_atomically(directory_ / "config.json", formats::print_json(json));
  }

  void expect_same(EncoderModel& loaded) {
    models::EncoderInput input;
    input.input_ids = test::text_ids(2, 40);
    const auto expected = model_->forward(input).named();
    const auto found = loaded->forward(input).named();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].second.equal(expected[i].second)) << found[i].first;
    }
  }

  void expect_loads(const EncoderLoadOptions& options = {}) {
    EncoderModel loaded = load_encoder(directory_, options);
    expect_same(loaded);
  }

  void expect_refused(ErrorKind kind, std::initializer_list<std::string_view> words,
                      const EncoderLoadOptions& options = {}) const {
    test::expect_error(kind, words, [&] { load_encoder(directory_, options); });
  }

  // A pattern's message shows the place of the name below its first line.
  void expect_missing_graph(const std::string& name, const EncoderLoadOptions& options = {}) const {
    try {
      load_encoder(directory_, options);
      ADD_FAILURE() << "there is no graph " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIo);
      EXPECT_NE(std::string(error.what()).find("cannot open '" + name + "'"), std::string::npos) << error.what();
    }
  }

  test::TemporaryDirectory folder_;
  std::filesystem::path directory_ = folder_ / "model";
  EncoderModel model_{nullptr};
};

constexpr const char* kOwnGraph = "%%MatrixMarket matrix coordinate pattern general\n128 128 2\n1 1\n9 2\n";

TEST_F(EncoderDirectory, AGraphOfTheAttentionComesAlong) {
  const std::filesystem::path source = folder_ / "source";
  std::filesystem::create_directories(source / "graphs");
  write_file_atomically(source / "graphs/own.mtx", kOwnGraph);
  models::EncoderConfig config = test::small_encoder_config("bert");
  config.attention = {"window(4) | edges(\"graphs/own.mtx\")"};
  config.directory = source;
  model_ = test::small_encoder(config, Head::kMaskedLanguageModel);
  const auto named = named_graphs({{"attention", config.attention}, {"attention_type", "\"sparse\""}}, source);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named.front().name, "graphs/own.mtx");
  EXPECT_EQ(named.front().content, kOwnGraph);
  save_encoder(directory_, model_);
  EXPECT_EQ(read_file(directory_ / "graphs/own.mtx"), kOwnGraph);
  std::filesystem::remove_all(source);
  expect_loads();
  // A model of another family attends as that family does, and takes no graph along.
  ConvertOptions longer;
  longer.to = "big_bird";
  longer.length = 128;  // the positions of the graph
  longer.settings = {{"block_size", 4}};
  save_encoder(folder_ / "longer", convert_encoder(load_encoder(directory_), longer));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "longer/graphs"));
  EXPECT_TRUE(load_encoder(folder_ / "longer")->config().attention.empty());
  std::filesystem::remove(directory_ / "graphs/own.mtx");
  expect_missing_graph("graphs/own.mtx");
}

TEST_F(EncoderDirectory, AnExpressionBesideTheConfigReadsTheWorkingDirectory) {
  save("bert", Head::kMaskedLanguageModel);
  write_file_atomically(directory_ / "own.mtx", kOwnGraph);
  EncoderLoadOptions options;
  options.encoder.attention = "edges(\"own.mtx\")";
  expect_missing_graph("own.mtx", options);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  const EncoderModel loaded = load_encoder(directory_, options);
  std::filesystem::current_path(before);
  save_encoder(folder_ / "again", loaded);
  EXPECT_EQ(read_file(folder_ / "again/own.mtx"), kOwnGraph);
  load_encoder(folder_ / "again");
}

TEST_F(EncoderDirectory, KeepsEveryBitOfEveryFamily) {
  for (const char* family : {"bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird", "etc",
                             "star_transformer", "xlm-roberta", "camembert", "distilbert", "modernbert", "mpnet",
                             "electra", "nomic_bert", "jina_bert", "eurobert", "esm", "deberta-v2"}) {
    save(family, Head::kTokenClassification);
    expect_loads();
    EXPECT_TRUE(open_model(directory_).can(Ability::kRead));
  }
}

TEST_F(EncoderDirectory, OpensWhatTransformersTolerates) {
  save("bert", Head::kMaskedLanguageModel);
  rewrite([&](NamedTensors& tensors) {
    rename(tensors, "embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma");
    rename(tensors, "embeddings.LayerNorm.bias", "embeddings.LayerNorm.beta");
    const at::Tensor tokens = model_->named_parameters()["encoder.embeddings.tokens"].detach();
    tensors.emplace_back("bert.embeddings.position_ids", at::zeros({1, 128}, at::TensorOptions(at::kLong)));
    tensors.emplace_back("cls.predictions.decoder.weight", tokens.clone());
    tensors.emplace_back("cls.predictions.decoder.bias", at::zeros({40}));
    tensors.emplace_back("cls.seq_relationship.weight", at::zeros({2, 16}));
    tensors.emplace_back("bert.pooler.dense.weight", at::zeros({16, 16}));
  });
  expect_loads();
}

TEST_F(EncoderDirectory, TheBiasMayStandUnderTheDecodersName) {
  save("roberta", Head::kMaskedLanguageModel);
  rewrite([](NamedTensors& tensors) { rename(tensors, "lm_head.bias", "lm_head.decoder.bias"); });
  expect_loads();
}

// As transformers 5: two different matrices are not tied, whatever the config says.
TEST_F(EncoderDirectory, ADecoderOfItsOwnIsNotTied) {
  save("bert", Head::kMaskedLanguageModel);
  rewrite([](NamedTensors& tensors) {
    tensors.emplace_back("cls.predictions.decoder.weight", at::zeros({40, 16}));
    tensors.emplace_back("cls.predictions.decoder.bias", at::full({40}, 2.0));
  });
  EncoderModel loaded = load_encoder(directory_);
  EXPECT_FALSE(loaded->config().tie_word_embeddings);
  models::EncoderInput input;
  input.input_ids = test::text_ids(1, 5);
  EXPECT_TRUE(loaded->forward(input).logits.eq(2.0).all().item<bool>());
  save_encoder(folder_ / "untied", loaded);
  EXPECT_NE(formats::SafetensorsFile(folder_ / "untied" / "model.safetensors").find("cls.predictions.bias"), nullptr);
  EXPECT_TRUE(load_encoder(folder_ / "untied")->forward(input).logits.eq(2.0).all().item<bool>());
}

TEST_F(EncoderDirectory, AHeadedCheckpointOpensBare) {
  save("bert", Head::kMaskedLanguageModel);
  EncoderLoadOptions options;
  options.head = Head::kNone;
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 40);
  const models::EncoderOutput output = load_encoder(directory_, options)->forward(input);
  EXPECT_TRUE(output.last_hidden_state.equal(model_->hidden_states(input)));
  EXPECT_FALSE(output.pooler_output.defined());  // the file has none
}

TEST_F(EncoderDirectory, AnUnknownArchitectureOpensWithAHeadOfItsFile) {
  save("bert", Head::kMaskedLanguageModel);
  edit_config([](formats::Json& json) { json["architectures"] = {"BertLMHeadModel"}; });
  expect_refused(ErrorKind::kUnsupported, {"config.json: architectures", "'BertLMHeadModel'"});
  EncoderLoadOptions options;
  options.head = Head::kMaskedLanguageModel;
  expect_loads(options);
}

TEST_F(EncoderDirectory, ABareCheckpointTakesANewHead) {
  save("roberta", Head::kNone);
  EncoderLoadOptions options;
  options.head = Head::kSequenceClassification;
  expect_refused(ErrorKind::kFormat, {"'classifier.dense.weight'", "[16, 16]", "is missing"}, options);
  std::vector<std::string> fresh;
  options.allow_new_head = true;
  options.labels = {"a", "b", "c"};
  options.new_tensors = &fresh;
  EncoderModel loaded = load_encoder(directory_, options);
  EXPECT_EQ(fresh.size(), 4U);
  EXPECT_EQ(loaded->config().num_labels(), 3);
  models::EncoderInput input;
  input.input_ids = test::text_ids(2, 40);
  EXPECT_TRUE(loaded->hidden_states(input).equal(model_->hidden_states(input)));
  EXPECT_EQ(loaded->forward(input).logits.size(1), 3);
}

TEST_F(EncoderDirectory, OtherLabelsReplaceOnlyTheLayerThatScoresThem) {
  save("big_bird", Head::kSequenceClassification);
  std::vector<std::string> fresh;
  EncoderLoadOptions options;
  options.labels = {"a", "b", "c"};
  expect_refused(ErrorKind::kFormat, {"'classifier.out_proj.weight'", "[2, 16]", "[3, 16]"}, options);
  options.allow_new_head = true;
  options.new_tensors = &fresh;
  const EncoderModel loaded = load_encoder(directory_, options);
  EXPECT_EQ(fresh, (std::vector<std::string>{"classifier.out_proj.weight", "classifier.out_proj.bias"}));
  EXPECT_TRUE(loaded->named_parameters()["head.dense.weight"].equal(model_->named_parameters()["head.dense.weight"]));
}

// Training begins what an attention learns; evaluation says that nobody has learned it.
TEST_F(EncoderDirectory, AnotherAttentionBeginsAnewForTraining) {
  save("bert", Head::kMaskedLanguageModel);
  EncoderLoadOptions options;
  options.encoder.attention = "performer(features=8)";
  expect_refused(ErrorKind::kFormat,
                 {"mechanism.projection'", "is missing: attention `performer(features=8)` learns it"}, options);
  std::vector<std::string> fresh;
  options.allow_new_head = true;
  options.seed = 3;
  options.new_tensors = &fresh;
  const EncoderModel loaded = load_encoder(directory_, options);
  EXPECT_EQ(fresh.size(), 2U);  // a matrix a layer
  const std::string rows = "encoder.layers.0.attention.mechanism.projection";
  EXPECT_TRUE(load_encoder(directory_, options)->named_parameters()[rows].equal(loaded->named_parameters()[rows]));
  save_encoder(directory_, loaded);
  // Saved, it is the config's attention: `linear` does without what it learned, other features do not.
  options = {};
  EXPECT_NO_THROW(load_encoder(directory_, options));
  options.encoder.attention = "linear";
  EXPECT_NO_THROW(load_encoder(directory_, options));
  options.encoder.attention = "performer(features=16)";
  expect_refused(ErrorKind::kFormat, {"has shape [8, 8], but attention `performer(features=16)` says [16, 8]"},
                 options);
}

TEST_F(EncoderDirectory, NamesMissingSurplusAndMisshapenTensors) {
  save("longformer", Head::kNone);
  rewrite([](NamedTensors& tensors) { rename(tensors, "layer.1.attention.self.key_global.weight", "other"); });
  expect_refused(ErrorKind::kFormat, {"model.safetensors", "'encoder.layer.1.attention.self.key_global.weight'",
                                      "[16, 16]", "(and 1 more)"});
  save("longformer", Head::kNone);
  rewrite([](NamedTensors& tensors) { tensors.emplace_back("encoder.layer.2.output.dense.bias", at::zeros({16})); });
  expect_refused(ErrorKind::kFormat, {"'encoder.layer.2.output.dense.bias'", "[16]", "not part of the model"});
  save("longformer", Head::kNone);
  edit_config([](formats::Json& json) { json["intermediate_size"] = 20; });
  expect_refused(ErrorKind::kFormat, {"intermediate.dense.weight'", "[24, 16]", "[20, 16]", "more)"});
}

TEST_F(EncoderDirectory, ReportsNumbersThatAreNot) {
  save("bert", Head::kNone);
  rewrite([](NamedTensors& tensors) { tensors.front().second.fill_(NAN); });
  EncoderLoadOptions options;
  options.check_finite = true;
  expect_refused(ErrorKind::kNumeric, {"model.safetensors", "NaN"}, options);
  EXPECT_NO_THROW(load_encoder(directory_));
}

TEST_F(EncoderDirectory, CutFilesAreNamed) {
  save("bert", Head::kTokenClassification);
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string whole = read_file(directory_ / name);
    for (std::size_t size = 0; size < whole.size() - 2; size += whole.size() / 30) {
      write_file_atomically(directory_ / name, whole.substr(0, size));
      expect_refused(ErrorKind::kFormat, {name});
    }
    write_file_atomically(directory_ / name, whole);
  }
  expect_loads();
}

// One bit at a time: a directory that opens or one error of one line, whatever the bit was.
TEST_F(EncoderDirectory, FlippedBitsHarmNobody) {
  save("longformer", Head::kSequenceClassification);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string whole = read_file(directory_ / name);
    // Of the weights the header, and as much of what follows.
    const std::size_t range = std::min<std::size_t>(whole.size(), 8192);
    for (int round = 0; round < 200; ++round) {
      std::string damaged = whole;
      damaged[random() % range] ^= static_cast<char>(1U << random() % 8);
      write_file_atomically(directory_ / name, damaged);
      try {
        load_encoder(directory_);
      } catch (const Error& error) {
        const std::string_view message = error.what();
        EXPECT_EQ(message.find('\n'), std::string_view::npos);
        EXPECT_NE(message.find(directory_.native()), std::string_view::npos) << message;
      }
    }
    write_file_atomically(directory_ / name, whole);
  }
}

TEST_F(EncoderDirectory, LoadsInAnotherPrecision) {
  save("big_bird", Head::kMaskedLanguageModel);
  EncoderLoadOptions options;
  options.dtype = at::kBFloat16;
  EncoderModel loaded = load_encoder(directory_, options);
  EXPECT_EQ(loaded->parameters().front().scalar_type(), at::kBFloat16);
  models::EncoderInput input;
  input.input_ids = test::text_ids(1, 40);
  const at::Tensor logits = loaded->forward(input).logits;
  EXPECT_EQ(logits.scalar_type(), at::kFloat);
  // bfloat16 has 8 bits: logits up to 10 through two layers stay within a few tenths.
  EXPECT_LT(test::largest_difference(logits, model_->forward(input).logits), 0.6);
  save_encoder(folder_ / "short", loaded);
  EXPECT_EQ(formats::read_json(folder_ / "short" / "config.json").at("dtype"), "bfloat16");
}

TEST_F(EncoderDirectory, CopiesTheTokenisersFiles) {
  save("bert", Head::kNone);
  write_file_atomically(directory_ / "vocab.txt", "[PAD]\n");
  write_file_atomically(directory_ / "notes.txt", "mine");
  save_encoder(folder_ / "copy", model_, directory_);
  EXPECT_EQ(read_file(folder_ / "copy" / "vocab.txt"), "[PAD]\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy" / "notes.txt"));
  write_file_atomically(directory_ / "pytorch_model.bin", "old");
  test::expect_error(ErrorKind::kIo, {"pytorch_model.bin"}, [&] { save_encoder(directory_, model_); });
}

TEST_F(EncoderDirectory, OptionsOfTheRunGoIntoTheConfig) {
  models::EncoderOptions options;
  options.fields = {{"block_size", 2}, {"num_random_blocks", 2}};
  save_encoder(directory_, test::small_encoder(test::small_encoder_config("big_bird"), Head::kNone, options));
  const models::EncoderConfig config = load_encoder_config(directory_);
  EXPECT_EQ(config.own.get<models::BigBirdFields>().block_size, 2);
  EXPECT_EQ(config.own.get<models::BigBirdFields>().num_random_blocks, 2);
}

}  // namespace
}  // namespace weft::checkpoint
