// SPDX-License-Identifier: Apache-2.0
// Reformers with a head for a task against transformers: outputs, losses and gradients, what is written back, how one
// for masked tokens becomes one of them, what is refused.
#include <gtest/gtest.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/encoder_names.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/files.h"

namespace weft::checkpoint {
namespace {

using models::EncoderModel;
using models::Head;

const std::vector<std::string> kTaskReformers = {"classes", "answers"};
/// float32 against float64, three layers.
constexpr double kTaskTolerance = 5e-5;

std::filesystem::path task_fixture(const std::string& name) {
  return std::filesystem::path(WEFT_TEST_DATA_DIR) / "reformer" / name;
}

/// A copy of a fixture whose config.json has other fields.
template <typename Change>
void write_changed(const std::filesystem::path& directory, const std::string& name, Change change) {
  formats::Json json = formats::read_json(task_fixture(name) / "config.json");
  change(json);
  write_file_atomically(directory / "config.json", json.dump());
  std::filesystem::copy(task_fixture(name) / "model.safetensors", directory / "model.safetensors");
}

TEST(ReformerTask, GivesTheOutputsOfTransformers) {
  const at::NoGradGuard without_gradients;
  for (const std::string& name : kTaskReformers) {
    EncoderModel model = load_encoder(task_fixture(name));
    const test::Fixture expected("reformer/" + name + "/expected");
    for (const char* length : {"1", "3", "5", "9", "13", "32"}) {
      const models::EncoderOutput output = model->forward({.input_ids = expected.tensor(std::string("ids.") + length)});
      for (const auto& [key, tensor] : output.named()) {
        EXPECT_LT(test::largest_difference(tensor, expected.tensor(key + "." + length)), kTaskTolerance)
            << name << " " << key << " " << length;
      }
    }
  }
}

TEST(ReformerTask, PaddingAndTheBatchChangeNothing) {
  const at::NoGradGuard without_gradients;
  for (const std::string& name : kTaskReformers) {
    EncoderModel model = load_encoder(task_fixture(name));
    const test::Fixture expected("reformer/" + name + "/expected");
    const at::Tensor ids = expected.tensor("ids.32").repeat({2, 1});
    at::Tensor mask = at::ones_like(ids);
    mask[0].narrow(0, 9, 23).zero_();
    const auto together = model->forward({.input_ids = ids, .attention_mask = mask}).named();
    const auto alone = model->forward({.input_ids = ids.narrow(0, 0, 1).narrow(1, 0, 9)}).named();
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const at::Tensor row = together[i].second.narrow(0, 0, 1).narrow(1, 0, alone[i].second.size(1));
      EXPECT_LT(test::largest_difference(row, alone[i].second), kTaskTolerance) << name << " " << alone[i].first;
    }
  }
}

/// Gradients against those of `file`; -> the loss.
double expect_task_gradients(const std::string& name, at::ScalarType dtype, const std::string& file, double tolerance) {
  EncoderModel model = load_encoder(task_fixture(name));
  model->to(dtype);
  const test::Fixture given("reformer/" + name + "/expected");
  const test::Fixture expected("reformer/" + name + "/" + file);
  model->train();
  const auto label = [&](const char* key) { return given.has(key) ? given.tensor(key) : at::Tensor(); };
  const at::Tensor loss = model->loss({.input_ids = given.tensor("ids.32")},
                                      {label("labels"), label("start_positions"), label("end_positions")});
  loss.backward();
  for (const auto& parameter : model->named_parameters()) {
    const HuggingFaceNames names = hugging_face_names(model->config(), model->head(), parameter.key(), true);
    std::vector<at::Tensor> parts;
    parts.reserve(names.parts.size());
    for (const std::string& part : names.parts) {
      parts.push_back(expected.tensor("gradient." + part));
    }
    const at::Tensor theirs = at::cat(parts);
    const double scale = 1e-2 + theirs.abs().max().item<double>();
    EXPECT_LT(test::largest_difference(parameter.value().grad(), theirs), tolerance * scale)
        << name << " " << parameter.key();
  }
  return loss.item<double>();
}

TEST(ReformerTask, GivesTheLossAndTheGradientsOfTransformers) {
  for (const std::string& name : kTaskReformers) {
    const test::Fixture expected("reformer/" + name + "/expected");
    const double loss = expect_task_gradients(name, at::kFloat, "expected", 2e-4);  // float32 through three layers
    EXPECT_NEAR(loss, expected.tensor("loss").item<double>(), kTaskTolerance) << name;
    expect_task_gradients(name, at::kDouble, "exact", 1e-6);  // the fixture is rounded to float32
  }
}

TEST(ReformerTask, WritesBackWhatItRead) {
  for (const std::string& name : kTaskReformers) {
    const std::filesystem::path from = task_fixture(name);
    const EncoderModel model = load_encoder(from);
    test::TemporaryDirectory directory;
    save_encoder(directory / "copy", model, from);
    const auto written = load_tensors(directory / "copy" / "model.safetensors");
    const auto read = load_tensors(from / "model.safetensors");
    ASSERT_EQ(written.size(), read.size());
    for (const auto& [key, tensor] : written) {
      const auto found =
          std::find_if(read.begin(), read.end(), [&, name = key](const auto& each) { return each.first == name; });
      ASSERT_NE(found, read.end()) << key;
      EXPECT_TRUE(found->second.equal(tensor)) << key;
    }
    const formats::Json before = formats::read_json(from / "config.json");
    const formats::Json after = formats::read_json(directory / "copy" / "config.json");
    for (const auto& [field, value] : after.items()) {
      // transformers writes neither chunk_size_feed_forward 0 nor the labels of answers.
      if (before.contains(field)) {
        EXPECT_EQ(before.at(field), value) << name << " " << field;
      } else {
        EXPECT_EQ(field, "chunk_size_feed_forward") << name << " " << value;
      }
    }
    EXPECT_EQ(load_encoder(directory / "copy")->head(), model->head());
  }
}

TEST(ReformerTask, AReformerForMaskedTokensLearnsATask) {
  const at::NoGradGuard without_gradients;
  const OpenedModel opened = open_model(task_fixture("masked"));
  EXPECT_TRUE(opened.can(Ability::kPredict));
  EXPECT_TRUE(opened.can(Ability::kRead));
  EXPECT_EQ(opened.head(), Head::kMaskedLanguageModel);
  const test::Fixture expected("reformer/masked/expected");
  const models::EncoderInput input{.input_ids = expected.tensor("ids.13")};
  EXPECT_LT(test::largest_difference(load_encoder(opened)->forward(input).logits, expected.tensor("logits.13")),
            kTaskTolerance);
  std::vector<std::string> fresh;
  EncoderLoadOptions options;
  options.head = Head::kSequenceClassification;
  options.allow_new_head = true;
  options.labels = {"bad", "good"};
  options.new_tensors = &fresh;
  const EncoderModel model = load_encoder(opened, options);
  std::sort(fresh.begin(), fresh.end());
  EXPECT_EQ(fresh, (std::vector<std::string>{"classifier.dense.bias", "classifier.dense.weight",
                                             "classifier.out_proj.bias", "classifier.out_proj.weight"}));
  test::TemporaryDirectory directory;
  save_encoder(directory / "made", model);
  const OpenedModel made = open_model(directory / "made");
  EXPECT_TRUE(made.can(Ability::kRead));
  EXPECT_EQ(load_encoder_config(made).id2label, options.labels);
  EXPECT_FALSE(made.can(Ability::kPredict));
}

TEST(ReformerTask, RefusesWhatItIsNot) {
  test::TemporaryDirectory decoder;
  write_changed(decoder.path(), "classes", [](formats::Json& json) { json["is_decoder"] = true; });
  test::expect_error(ErrorKind::kUnsupported, {"architectures", "ReformerModelWithLMHead", "is_decoder true"},
                     [&] { load_config(open_model(decoder.path())); });
  test::TemporaryDirectory tags;
  write_changed(tags.path(), "classes",
                [](formats::Json& json) { json["architectures"] = {"ReformerForTokenClassification"}; });
  test::expect_error(ErrorKind::kUnsupported, {"architectures", "ReformerForTokenClassification"},
                     [&] { load_config(open_model(tags.path())); });
  test::expect_error(ErrorKind::kFormat, {"model_type", "reformer"}, [] { load_model(task_fixture("answers")); });
  test::expect_error(ErrorKind::kUnsupported, {"reformer has no head token-classification"}, [] {
    EncoderLoadOptions options;
    options.head = Head::kTokenClassification;
    options.allow_new_head = true;
    load_encoder(task_fixture("classes"), options);
  });
  test::TemporaryDirectory labels;
  write_changed(labels.path(), "classes", [](formats::Json& json) { json["id2label"] = {{"1", "one"}}; });
  test::expect_error(ErrorKind::kFormat, {"id2label", "'1'"}, [&] { load_encoder_config(open_model(labels.path())); });
}

}  // namespace
}  // namespace weft::checkpoint
