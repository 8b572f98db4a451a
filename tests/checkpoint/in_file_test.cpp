// SPDX-License-Identifier: Apache-2.0
// Directories of other people: configs that name no class, labels that are numbers, names behind what training wraps
// around a model.
#include <gtest/gtest.h>

#include <ATen/ops/ones.h>

#include <functional>
#include <optional>

#include "checkpoint/encoder_fixture.h"
#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/in_file/heads.h"
#include "weft/checkpoint/in_file/wrapped_names.h"
#include "weft/core/files.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::Head;

class InFile : public ::testing::Test {
 protected:
  void save(const std::string& family, Head head, std::vector<std::string> labels = {}) {
    std::filesystem::remove_all(directory_);
    models::EncoderConfig config = test::small_encoder_config(family);
    config.id2label = labels.empty() ? config.id2label : std::move(labels);
    model_ = test::small_encoder(config, head);
    save_encoder(directory_, model_);
  }

  void edit_config(const std::function<void(Json&)>& change) const {
    Json json = formats::read_json(directory_ / "config.json");
    change(json);
    write_file_atomically(directory_ / "config.json", formats::print_json(json));
  }

  void edit_names(const std::function<std::string(const std::string&)>& change) const {
    NamedTensors tensors = load_tensors(directory_ / "model.safetensors");
    for (auto& [name, tensor] : tensors) {
      name = change(name);
    }
    save_tensors(directory_ / "model.safetensors", tensors);
  }

  Head head(std::optional<Head> wanted = std::nullopt) const {
    const OpenedModel opened = open_model(directory_);
    if (wanted) {
      opened.prefer(*wanted);
    }
    EXPECT_EQ(load_encoder(opened)->head(), opened.head());
    return opened.head();
  }

  /// The hidden states and the head's are those of the model that was saved.
  void expect_same() const {
    models::EncoderInput input;
    input.input_ids = test::text_ids(2, 24);
    if (model_->head() == Head::kMultipleChoice) {
      input.input_ids = input.input_ids.unsqueeze(0);
    }
    const auto expected = model_->forward(input).named();
    const auto found = load_encoder(directory_)->forward(input).named();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].second.equal(expected[i].second)) << found[i].first;
    }
  }

  test::TemporaryDirectory folder_;
  std::filesystem::path directory_ = folder_ / "model";
  mutable models::EncoderModel model_{nullptr};
};

TEST_F(InFile, TheTensorsSayTheHeadWhereTheConfigDoesNot) {
  for (const char* family : {"bert", "roberta", "big_bird", "nystromformer", "star_transformer", "camembert",
                             "distilbert", "modernbert", "mpnet", "electra"}) {
    for (const Head kind :
         {Head::kNone, Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification,
          Head::kQuestionAnswering, Head::kMultipleChoice, Head::kReplacedTokens}) {
      if (!models::encoder_rules(family).has_head(kind) ||
          (family == std::string("modernbert") && kind == Head::kQuestionAnswering)) {
        continue;  // the tensors of the latter are those of a classifier with two labels
      }
      SCOPED_TRACE(std::string(family) + ' ' + std::string(models::to_string(kind)));
      const bool tags = kind == Head::kTokenClassification;
      save(family, kind, tags ? std::vector<std::string>{"O", "B-name"} : std::vector<std::string>{});
      for (const Json& name : {Json(nullptr), Json::array(), Json::array({"SomebodysOwnClass"})}) {
        edit_config([&](Json& json) { json["architectures"] = name; });
        EXPECT_EQ(head(), kind);
      }
      edit_config([](Json& json) { json.erase("architectures"); });
      EXPECT_EQ(head(), kind);
      expect_same();
    }
  }
}

TEST_F(InFile, ATaskTakesTheHeadThatItNeedsWhereSeveralFit) {
  save("bert", Head::kSequenceClassification);  // a pooler and a classifier: tags would fit, too
  edit_config([](Json& json) { json.erase("architectures"); });
  EXPECT_EQ(head(), Head::kSequenceClassification);
  EXPECT_EQ(head(Head::kTokenClassification), Head::kTokenClassification);
  EXPECT_EQ(head(Head::kQuestionAnswering), Head::kSequenceClassification);  // which is not there
  save("bert", Head::kSequenceClassification, {"a number"});
  edit_config([](Json& json) { json.erase("architectures"); });
  EXPECT_EQ(head(), Head::kSequenceClassification);  // one label is a number that is learned, and no choice
  EXPECT_EQ(head(Head::kMultipleChoice), Head::kMultipleChoice);
}

TEST_F(InFile, AHeadBehindTheBareClassIsTakenWhereATaskNeedsIt) {
  save("roberta", Head::kQuestionAnswering);
  edit_config([](Json& json) { json["architectures"] = {"RobertaModel"}; });
  EXPECT_EQ(head(), Head::kNone);
  EXPECT_EQ(head(Head::kQuestionAnswering), Head::kQuestionAnswering);
  EXPECT_EQ(head(Head::kMaskedLanguageModel), Head::kNone);
  edit_config([](Json& json) { json["architectures"] = {"RobertaForMaskedLM"}; });
  const OpenedModel opened = open_model(directory_);
  opened.prefer(Head::kQuestionAnswering);
  EXPECT_EQ(opened.head(), Head::kMaskedLanguageModel);  // what a published class says stands
}

TEST_F(InFile, SomebodysOwnLayersDoNoHarm) {
  save("bert", Head::kQuestionAnswering);
  edit_config([](Json& json) { json["architectures"] = {"BertForSpansAndMore"}; });
  NamedTensors tensors = load_tensors(directory_ / "model.safetensors");
  tensors.emplace_back("more.weight", at::ones({2, 2}));
  save_tensors(directory_ / "model.safetensors", tensors);
  EXPECT_EQ(head(), Head::kQuestionAnswering);
  expect_same();
}

TEST_F(InFile, ConfigsAsPythonWritesThem) {
  save("bert", Head::kSequenceClassification, {"1", "2.5", "true", "LABEL_3"});
  std::string text = read_file(directory_ / "config.json");
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
  };
  replace("\"0\": \"1\"", "\"0\": 1");
  replace("\"1\": \"2.5\"", "\"1\": 2.5");
  replace("\"2\": \"true\"", "\"2\": true");
  replace("\"3\": \"LABEL_3\"", "\"3\": null");
  text.replace(text.rfind('}'), 1, ", \"somebody's\": [NaN, -Infinity, \"NaN \\\" Infinity\"], \"longest\": Infinity}");
  write_file_atomically(directory_ / "config.json", text);
  EXPECT_EQ(load_encoder_config(open_model(directory_)).id2label,
            (std::vector<std::string>{"1", "2.5", "true", "LABEL_3"}));
  expect_same();
  for (const char* value : {"NaN", "Infinity"}) {
    std::string damaged = text;
    const std::size_t at = damaged.find("\"layer_norm_eps\": ");
    const std::size_t begin = damaged.find(' ', at) + 1;
    damaged.replace(begin, damaged.find(',', begin) - begin, value);
    write_file_atomically(directory_ / "config.json", damaged);
    test::expect_error(std::string(value) == "NaN" ? ErrorKind::kFormat : ErrorKind::kArgument,
                       {"config.json", "layer_norm_eps"}, [&] { load_encoder_config(open_model(directory_)); });
  }
}

TEST_F(InFile, WrappersOfTrainingAreTakenOff) {
  for (const char* family : {"bert", "roberta", "big_bird"}) {
    for (const char* wrapper : {"module.", "model.", "_orig_mod.", "base_model.model.", "_orig_mod.module.",
                                "module._orig_mod.model.", "model.base_model.model."}) {
      SCOPED_TRACE(std::string(family) + ' ' + wrapper);
      save(family, Head::kMaskedLanguageModel);
      edit_names([&](const std::string& name) { return wrapper + name; });
      expect_same();
      edit_config([](Json& json) { json.erase("architectures"); });
      EXPECT_EQ(head(), Head::kMaskedLanguageModel);
    }
  }
  save("bert", Head::kNone);  // whose names have no prefix of the family's own
  edit_names([](const std::string& name) { return "module." + name; });
  expect_same();
  save("bert", Head::kNone);  // one layer was compiled
  edit_names([](const std::string& name) {
    constexpr std::string_view kLayer = "encoder.layer.1.";
    return name.starts_with(kLayer) ? std::string(kLayer) + "_orig_mod." + name.substr(kLayer.size()) : name;
  });
  expect_same();
}

TEST_F(InFile, AMissingNameIsShownBesideOneThatIsThere) {
  save("bert", Head::kQuestionAnswering);
  edit_names([](const std::string& name) { return "network." + name; });
  test::expect_error(ErrorKind::kFormat, {"is missing; the file has 'network.bert.embeddings."},
                     [&] { load_encoder(directory_); });
}

TEST(WrappedNames, TwoTensorsOfOneNameAreRefused) {
  const test::TemporaryDirectory folder;
  save_tensors(folder / "model.safetensors",
               {{"module.a.weight", at::ones({1})}, {"b", at::ones({1})}, {"module.b", at::ones({2})}});
  test::expect_error(ErrorKind::kFormat, {"'module.b'", "'b'"}, [&] { open_weights(folder.path(), {"a.weight"}); });
  const auto file = open_weights(folder.path(), {"b"});  // which stands as it is
  EXPECT_NE(file->find("module.a.weight"), nullptr);
}

TEST(WrappedNames, TheFamilysOwnPrefixStays) {
  for (const char* family : {"bart", "marian_apart", "led", "pegasus"}) {
    const test::EncoderFixture fixture(std::string("seq2seq/") + family);
    const models::EncoderDecoder expected = load_encoder_decoder(fixture.directory());
    const NamedTensors plain = load_tensors(fixture.directory() / "model.safetensors");
    for (const char* wrapper : {"module.", "model.", "_orig_mod.module."}) {
      SCOPED_TRACE(std::string(family) + ' ' + wrapper);
      NamedTensors tensors = plain;
      for (auto& [name, tensor] : tensors) {
        name.insert(0, wrapper);
      }
      save_tensors(fixture.directory() / "model.safetensors", tensors);
      const models::EncoderDecoder found = load_encoder_decoder(fixture.directory());
      const auto wanted = expected->named_parameters();
      for (const auto& parameter : found->named_parameters()) {
        EXPECT_TRUE(parameter.value().equal(wanted[parameter.key()])) << parameter.key();
      }
    }
  }
}

TEST(EncoderDecoderConfigs, TwoNamesOfOneFieldMayDisagree) {
  const test::EncoderFixture fixture("seq2seq/marian_apart");
  const std::filesystem::path path = fixture.directory() / "config.json";
  const Json good = formats::read_json(path);
  const auto opened = [&](const std::function<void(Json&)>& change) {
    Json json = good;
    change(json);
    write_file_atomically(path, json.dump());
    return load_encoder_decoder(fixture.directory())->config();
  };
  const auto layers = good.at("encoder_layers").get<std::int64_t>();
  EXPECT_EQ(opened([](Json& json) { json["num_hidden_layers"] = 7; }).encoder_layers, layers);
  EXPECT_EQ(opened([&](Json& json) {
              json["num_hidden_layers"] = layers;
              json["encoder_layers"] = 7;
            }).encoder_layers,
            layers);  // that of the weights
  EXPECT_EQ(opened([](Json& json) { json["num_attention_heads"] = 1; }).encoder_attention_heads, 1);
  for (const Json& name : {Json(nullptr), Json::array(), Json::array({"MyTranslator"})}) {
    EXPECT_EQ(opened([&](Json& json) { json["architectures"] = name; }).model_type, "marian");
  }
}

}  // namespace
}  // namespace weft::checkpoint
