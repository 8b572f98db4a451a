// SPDX-License-Identifier: Apache-2.0
// Model directories: round trips, and one clear error for everything that may be wrong with one.
#include <gtest/gtest.h>

#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <fstream>
#include <limits>

#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::checkpoint {
namespace {

using formats::Json;

class ModelDirectory : public ::testing::Test {
 protected:
  void save(const models::TransformerConfig& config = test::small_config()) {
    model_ = test::make_model(config);
    save_model(directory_, model_, *tokenizer_);
  }

  Json config_json() const { return formats::parse_json(read_file(directory_ / "config.json"), "config.json"); }
  void write_config(const Json& json) const { write_file_atomically(directory_ / "config.json", json.dump()); }

  void edit_config(const std::function<void(Json&)>& edit) const {
    Json json = config_json();
    edit(json);
    write_config(json);
  }

  void edit_tensors(const std::function<void(NamedTensors&)>& edit) const {
    NamedTensors tensors = load_tensors(directory_ / "model.safetensors");
    edit(tensors);
    save_tensors(directory_ / "model.safetensors", tensors);
  }

  std::string expect_refused(ErrorKind kind, std::initializer_list<std::string_view> words,
                             const LoadOptions& options = {}) const {
    const std::string message = test::expect_error(kind, words, [&] { load_model(directory_, options); });
    EXPECT_NE(message.find(directory_.string()), std::string::npos) << message;
    return message;
  }

  const test::TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_ / "model";
  const std::unique_ptr<text::Tokenizer> tokenizer_ = text::make_byte_tokenizer();
  models::LanguageModel model_{nullptr};
};

at::Tensor& find(NamedTensors& tensors, std::string_view name) {
  for (auto& [found, tensor] : tensors) {
    if (found == name) {
      return tensor;
    }
  }
  throw std::logic_error("no such tensor");
}

void expect_equal_models(const models::LanguageModel& a, const models::LanguageModel& b) {
  const auto first = a->named_parameters();
  const auto second = b->named_parameters();
  ASSERT_EQ(first.size(), second.size());
  for (const auto& parameter : first) {
    EXPECT_TRUE(parameter.value().equal(second[parameter.key()])) << parameter.key();
  }
}

TEST_F(ModelDirectory, ARoundTripKeepsEveryBitAndField) {
  models::TransformerConfig config = test::small_config();
  config.attention = {"window(4)", "strided(8)"};
  config.position_embedding = "learned";
  config.norm_position = "post";
  config.is_decoder = false;
  config.rope_theta = 12345.678901234567;
  save(config);
  const models::LanguageModel loaded = load_model(directory_);
  EXPECT_FALSE(loaded->is_training());
  expect_equal_models(model_, loaded);
  EXPECT_EQ(formats::to_json(loaded->config()), formats::to_json(config));
  EXPECT_EQ(config_json()["architectures"], Json::array({"WeftForMaskedLM"}));
  EXPECT_EQ(config_json()["model_type"], "weft");
  const at::NoGradGuard without_gradients;
  const models::ModelInput input = test::input_of(test::random_ids(1, 12));
  EXPECT_TRUE(models::LanguageModel(model_)->logits(input).equal(models::LanguageModel(loaded)->logits(input)));
}

TEST_F(ModelDirectory, TiedWeightsAreStoredOnce) {
  save();
  const formats::SafetensorsFile tied(directory_ / "model.safetensors");
  EXPECT_EQ(tied.find("head.weight"), nullptr);
  EXPECT_NE(tied.find("embeddings.tokens"), nullptr);
  models::TransformerConfig config = test::small_config();
  config.tie_word_embeddings = false;
  save(config);
  EXPECT_NE(formats::SafetensorsFile(directory_ / "model.safetensors").find("head.weight"), nullptr);
}

TEST_F(ModelDirectory, AnExistingDirectoryKeepsItsOtherFiles) {
  std::filesystem::create_directory(directory_);
  write_file_atomically(directory_ / "metrics.jsonl", "{}\n");
  save();
  save();
  models::TransformerConfig other = test::small_config();
  other.intermediate_size = 40;
  save(other);
  expect_equal_models(model_, load_model(directory_));
  EXPECT_EQ(read_file(directory_ / "metrics.jsonl"), "{}\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 3);
}

constexpr const char* kGraph = "%%MatrixMarket matrix coordinate pattern general\n64 64 2\n1 1\n9 2\n";

TEST_F(ModelDirectory, AGraphOfTheAttentionComesAlong) {
  const std::filesystem::path source = temporary_ / "source";
  std::filesystem::create_directories(source / "graphs");
  write_file_atomically(source / "graphs/own.mtx", kGraph);
  models::TransformerConfig config = test::small_config();
  config.attention = {"window(4)", "window(4) | edges(\"graphs/own.mtx\")"};
  config.directory = source;
  save(config);
  EXPECT_EQ(read_file(directory_ / "graphs/own.mtx"), kGraph);
  std::filesystem::remove_all(source);
  const models::LanguageModel loaded = load_model(directory_);
  expect_equal_models(model_, loaded);
  // And once more from there, as a run does that was resumed from a checkpoint which is gone by then.
  std::filesystem::remove(directory_ / "graphs/own.mtx");
  EXPECT_THROW(load_model(directory_), Error);
  save_model(temporary_ / "again", loaded, *tokenizer_);
  EXPECT_EQ(read_file(temporary_ / "again/graphs/own.mtx"), kGraph);
}

TEST_F(ModelDirectory, AConfigReadsNoFileOutsideItsDirectory) {
  save();
  write_file_atomically(temporary_ / "secret.mtx", kGraph);
  std::filesystem::create_symlink(temporary_ / "secret.mtx", directory_ / "link.mtx");
  const std::vector<std::string> names{"../secret.mtx", "link.mtx", (temporary_ / "secret.mtx").string()};
  for (const std::string& name : names) {
    edit_config([&](Json& json) { json["attention"] = {"edges(\"" + name + "\")"}; });
    std::string message;
    try {
      load_model(directory_);
    } catch (const Error& error) {
      message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::kExpression);
    }
    EXPECT_NE(message.find("directory of the config"), std::string::npos) << name << ": " << message;
  }
}

TEST_F(ModelDirectory, HalfPrecisionWeightsAreRead) {
  save();
  edit_tensors([](NamedTensors& tensors) {
    for (auto& [name, tensor] : tensors) {
      tensor = tensor.to(name.ends_with("weight") ? at::kBFloat16 : at::kHalf);
    }
  });
  const models::LanguageModel loaded = load_model(directory_);
  const at::Tensor weight = loaded->named_parameters()["layers.1.attention.qkv.weight"];
  EXPECT_EQ(weight.scalar_type(), at::kFloat);
  EXPECT_TRUE(
      weight.equal(model_->named_parameters()["layers.1.attention.qkv.weight"].to(at::kBFloat16).to(at::kFloat)));
}

TEST_F(ModelDirectory, TensorsAreCheckedInBothDirections) {
  save();
  const auto kept = load_tensors(directory_ / "model.safetensors");
  const auto after = [&](const std::function<void(NamedTensors&)>& edit) {
    save_tensors(directory_ / "model.safetensors", kept);
    edit_tensors(edit);
  };
  after([](NamedTensors& tensors) { std::erase_if(tensors, [](const auto& t) { return t.first == "norm.weight"; }); });
  expect_refused(ErrorKind::kFormat, {"model.safetensors", "'norm.weight'", "[16]", "missing"});
  after([](NamedTensors& tensors) { tensors.emplace_back("head.weight", at::randn({256, 16})); });
  expect_refused(ErrorKind::kFormat, {"'head.weight'", "[256, 16]", "not part of the model"});
  after([](NamedTensors& tensors) { find(tensors, "layers.0.feed_forward.up.weight") = at::randn({16, 24}); });
  expect_refused(ErrorKind::kFormat, {"'layers.0.feed_forward.up.weight'", "[16, 24]", "[24, 16]"});
  after([](NamedTensors& tensors) { find(tensors, "norm.weight") = find(tensors, "norm.weight").to(at::kDouble); });
  expect_refused(ErrorKind::kFormat, {"'norm.weight'", "F64"});
  after([](NamedTensors& tensors) { tensors.clear(); });
  expect_refused(ErrorKind::kFormat, {"missing", "more)"});
}

TEST_F(ModelDirectory, AConfigThatAsksForMoreThanTheFileHoldsAllocatesNothing) {
  save();
  edit_config([](Json& json) {
    json["hidden_size"] = 1 << 18;
    json["intermediate_size"] = 1 << 20;
    json["num_hidden_layers"] = 4000;  // some 10^16 parameters
  });
  expect_refused(ErrorKind::kFormat, {"model.safetensors", "shape"});
}

TEST_F(ModelDirectory, NonFiniteWeightsAreReportedOnRequest) {
  save();
  edit_tensors(
      [](NamedTensors& tensors) { find(tensors, "norm.bias")[3].fill_(std::numeric_limits<double>::quiet_NaN()); });
  EXPECT_NO_THROW(load_model(directory_));
  LoadOptions options;
  options.check_finite = true;
  expect_refused(ErrorKind::kNumeric, {"'norm.bias'", "NaN"}, options);
}

TEST_F(ModelDirectory, ConfigFieldsAreChecked) {
  save();
  const Json kept = config_json();
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words,
                           const std::function<void(Json&)>& edit) {
    write_config(kept);
    edit_config(edit);
    const std::string message = expect_refused(kind, words);
    EXPECT_NE(message.find("config.json: "), std::string::npos) << message;
  };
  refused(ErrorKind::kFormat, {"num_layers"}, [](Json& json) { json["num_layers"] = 3; });
  refused(ErrorKind::kFormat, {"hidden_size"}, [](Json& json) { json["hidden_size"] = "wide"; });
  refused(ErrorKind::kFormat, {"num_hidden_layers"}, [](Json& json) { json["num_hidden_layers"] = 2.5; });
  refused(ErrorKind::kFormat, {"num_attention_heads", "missing"},
          [](Json& json) { json.erase("num_attention_heads"); });
  refused(ErrorKind::kArgument, {"num_attention_heads", "0"}, [](Json& json) { json["num_attention_heads"] = 0; });
  refused(ErrorKind::kArgument, {"num_hidden_layers"},
          [](Json& json) { json["num_hidden_layers"] = std::int64_t{1} << 31; });
  refused(ErrorKind::kFormat, {"model_type", "weft", "'bert'"}, [](Json& json) { json["model_type"] = "bert"; });
  refused(ErrorKind::kFormat, {"model_type", "none"}, [](Json& json) { json.erase("model_type"); });
  refused(ErrorKind::kFormat, {"architectures", "WeftForCausalLM"},
          [](Json& json) { json["architectures"] = {"WeftForMaskedLM"}; });
  refused(ErrorKind::kFormat, {"model_type"}, [](Json& json) { json = Json::array(); });
}

TEST_F(ModelDirectory, FieldsOfHowAModelRunsMayBeLeftOut) {
  save();
  edit_config([](Json& json) {
    json.erase("loss_chunk_size");
    json.erase("gradient_checkpointing");
    json["attention"] = "full";  // one string for a list of one
  });
  EXPECT_EQ(load_config(directory_).attention, std::vector<std::string>{"full"});
}

TEST_F(ModelDirectory, MissingFilesAreNamed) {
  expect_refused(ErrorKind::kIo, {"there is no such directory"});
  std::filesystem::create_directory(directory_);
  expect_refused(ErrorKind::kIo, {"config.json"});
  save();
  std::filesystem::remove(directory_ / "model.safetensors");
  expect_refused(ErrorKind::kIo, {"model.safetensors"});
}

TEST_F(ModelDirectory, ATokenizerJsonGoesWithTheModel) {
  const text::HuggingFaceTokenizer tokenizer(std::filesystem::path(WEFT_TEST_DATA_DIR) / "tokenizers" / "json");
  models::TransformerConfig config = test::small_config();
  config.tokenizer_class = "huggingface";
  config.vocab_size = tokenizer.vocabulary_size();
  model_ = test::make_model(config);
  save_model(directory_, model_, tokenizer);
  EXPECT_EQ(load_config(directory_).tokenizer_class, "huggingface");
  const std::unique_ptr<text::Tokenizer> loaded = text::load_tokenizer(directory_);
  EXPECT_EQ(loaded->kind(), "huggingface");
  EXPECT_EQ(loaded->encode("to be"), tokenizer.encode("to be"));
  // Another model in its place takes the tokeniser's files away.
  save();
  EXPECT_FALSE(std::filesystem::exists(directory_ / "tokenizer.json"));
}

TEST_F(ModelDirectory, AnotherAttentionMustNotNeedWhatNobodyLearned) {
  save();
  EXPECT_EQ(load_model(directory_, {.attention = {"linear"}})->config().attention, std::vector<std::string>{"linear"});
  test::expect_error(ErrorKind::kFormat, {"is missing: attention `performer(features=8)` learns it"},
                     [&] { load_model(directory_, {.attention = {"performer(features=8)"}}); });
}

TEST_F(ModelDirectory, TheTokenizerHasToFit) {
  models::TransformerConfig config = test::small_config();
  config.tokenizer_class = "sentencepiece";
  config.vocab_size = 100;
  model_ = test::make_model(config);
  test::expect_error(ErrorKind::kArgument, {"sentencepiece", "bytes"},
                     [&] { save_model(directory_, model_, *tokenizer_); });
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

}  // namespace
}  // namespace weft::checkpoint
