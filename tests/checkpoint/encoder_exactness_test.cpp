// SPDX-License-Identifier: Apache-2.0
// Every family with every head against transformers: outputs and the gradient of every parameter, on inputs of one
// token, of odd and of whole length, padded, with global positions and token types.
#include <gtest/gtest.h>

#include <c10/core/GradMode.h>

#include "checkpoint/encoder_fixture.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/encoder_names.h"
#include "weft/checkpoint/encoder_weights.h"
#include "weft/core/error.h"

namespace weft::checkpoint {
namespace {

// The reference is float64. Two layers of width 8 with weights of 0.35 leave a few 1e-6 in float32; 2e-5 is what the
// project promises for small models.
constexpr double kOutputTolerance = 2e-5;

class EncoderExactness : public ::testing::TestWithParam<test::EncoderKind> {
 protected:
  EncoderExactness() : fixture_(GetParam()) {}

  models::EncoderModel load(const std::string& name, at::ScalarType dtype = at::kFloat) const {
    EncoderLoadOptions options;
    options.dtype = dtype;
    options.encoder.random = fixture_.plan(name);
    // The reference pads to whole blocks, and its patterns are laid out over that; with landmarks its batch is one.
    // DeBERTa's padding attends to padding there, which nobody does here.
    options.encoder.pad_like_hf = GetParam().family != "deberta-v2";
    return load_encoder(fixture_.directory(), options);
  }

  /// Behind landmarks the gradient of a key's bias is 0: six steps of the inverse multiply what float32 leaves of it.
  static at::ScalarType gradient_type() { return GetParam().family == "nystrom_landmarks" ? at::kDouble : at::kFloat; }

  /// Outputs of a token are compared where it is no padding; the others have no tokens.
  void expect_equal(const std::string& name, const std::string& output, const at::Tensor& found) const {
    const at::Tensor expected = fixture_.tensor(name + "/output/" + output);
    ASSERT_TRUE(expected.defined()) << output;
    ASSERT_EQ(found.sizes(), expected.sizes()) << output;
    at::Tensor rows = fixture_.kept(name);
    const bool by_token = expected.dim() >= 2 && expected.size(1) == rows.size(-1) && output != "pooler_output";
    rows = by_token ? rows : at::ones({expected.size(0)}, at::TensorOptions(at::kBool));
    EXPECT_LT(test::largest_difference(found, expected, rows), kOutputTolerance) << name << ' ' << output;
  }

  at::Tensor loss_of(models::EncoderModel& model, const std::string& name) const {
    if (model->head() != models::Head::kNone) {
      return model->loss(fixture_.input(name), fixture_.labels(name));
    }
    const models::EncoderOutput output = model->forward(fixture_.input(name));
    const at::Tensor loss = (output.last_hidden_state * fixture_.tensor(name + "/weight/last_hidden_state")).sum();
    return output.pooler_output.defined()
               ? loss + (output.pooler_output * fixture_.tensor(name + "/weight/pooler_output")).sum()
               : loss;
  }

  /// The name of a tied table is the one that a class of transformers has first, in some the head's. Undefined under a
  /// head without a table.
  at::Tensor gradient_of_head(const models::EncoderModel& model, const std::string& name) const {
    if (model->head() != models::Head::kMaskedLanguageModel) {
      return {};
    }
    const HuggingFaceNames names = hugging_face_names(model->config(), model->head(), "head.decoder", true);
    return fixture_.tensor(concat(name, "/gradient/", names.parts.front()));
  }

  void expect_equal_gradients(const models::EncoderModel& model, const std::string& name) const {
    std::size_t compared = 0;
    for (const auto& parameter : model->named_parameters()) {
      const HuggingFaceNames names =
          hugging_face_names(model->config(), model->head(), parameter.key(), model->head() != models::Head::kNone);
      std::int64_t first = 0;  // row of the part
      for (const std::string& tensor : names.parts) {
        at::Tensor expected = fixture_.tensor(concat(name, "/gradient/", tensor));
        if (!expected.defined() && parameter.key() == "encoder.embeddings.tokens") {
          expected = gradient_of_head(model, name);
        }
        const at::Tensor found = parameter.value().grad();
        ASSERT_EQ(expected.defined(), found.defined()) << tensor;
        if (expected.defined()) {
          const std::int64_t rows = names.parts.size() > 1 ? expected.size(0) : found.size(0);
          at::Tensor own = found.narrow(0, first, rows);
          first += rows;
          for (const std::int64_t dimension : names.ones) {
            own = own.unsqueeze(dimension);
          }
          expect_close(own, expected, cancelling(name, tensor), concat(name, ' ', tensor));
          ++compared;
        }
      }
    }
    EXPECT_EQ(compared + 1, fixture_.group(name + "/gradient").size());  // and the loss
  }

  /// The size of terms that cancel: the gradient of a key's bias is 0, a sum over tokens, and the gradient of the key's
  /// weight sums the same terms times inputs of size 1. For every other parameter 0, because its gradient is as large
  /// as its terms.
  double cancelling(const std::string& name, const std::string& tensor) const {
    if (!tensor.ends_with("key.bias") && !tensor.ends_with("k_lin.bias") && !tensor.ends_with("attn.k.bias") &&
        !tensor.ends_with("key_proj.bias")) {
      return 0;
    }
    const std::string weight = tensor.substr(0, tensor.size() - std::string_view("bias").size()) + "weight";
    return fixture_.tensor(concat(name, "/gradient/", weight)).abs().max().item<double>();
  }

  /// The project's promise for gradients in float32, and a fifth of it for terms that cancel.
  static void expect_close(const at::Tensor& found, const at::Tensor& expected, double terms, const std::string& what) {
    ASSERT_EQ(found.sizes(), expected.sizes()) << what;
    const double allowed = 1e-4 * expected.abs().max().item<double>() + 2e-5 * terms + 1e-7;
    EXPECT_LE(test::largest_difference(found, expected), allowed) << what;
  }

  test::EncoderFixture fixture_;
};

TEST_P(EncoderExactness, OutputsAreThoseOfTransformers) {
  for (const std::string& name : fixture_.cases()) {
    models::EncoderModel model = load(name);
    EXPECT_EQ(to_string(model->head()), GetParam().head);
    for (const bool recording : {true, false}) {  // without gradients other code computes the products
      const at::AutoGradMode mode(recording);
      const auto outputs = model->forward(fixture_.input(name)).named();
      EXPECT_EQ(outputs.size(), fixture_.group(name + "/output").size()) << name;
      for (const auto& [output, found] : outputs) {
        expect_equal(name, output, found);
      }
    }
  }
}

TEST_P(EncoderExactness, GradientsAreThoseOfTransformers) {
  for (const std::string& name : fixture_.cases()) {
    const at::Tensor expected = fixture_.tensor(name + "/gradient/loss");
    if (!expected.defined()) {
      continue;
    }
    models::EncoderModel model = load(name, gradient_type());
    const at::Tensor loss = loss_of(model, name);
    EXPECT_LT(test::largest_difference(loss, expected), kOutputTolerance * (1 + expected.abs().item<double>())) << name;
    loss.backward();
    expect_equal_gradients(model, name);
  }
}

// Recomputed blocks see what the first pass saw: padding, plan, globals.
TEST_P(EncoderExactness, GradientCheckpointingChangesNoGradient) {
  const std::string name = GetParam().family == "big_bird"            ? "padded_released"
                           : GetParam().family == "nystrom_landmarks" ? "batch"
                                                                      : "padded";
  models::EncoderModel model = load(name, gradient_type());
  model->set_gradient_checkpointing(true);
  loss_of(model, name).backward();
  expect_equal_gradients(model, name);
}

// What is written is what was read, by name and value; the names are those that transformers wrote.
TEST_P(EncoderExactness, WritesTheTensorsThatItRead) {
  const test::TemporaryDirectory folder;
  save_encoder(folder / "copy", load(fixture_.cases().front()));
  const formats::SafetensorsFile copy(folder / "copy" / "model.safetensors");
  const NamedTensors weights = fixture_.group("weights");
  EXPECT_EQ(copy.tensors().size(), weights.size());
  for (const auto& [name, tensor] : weights) {
    const formats::TensorInfo* info = copy.find(name);
    ASSERT_NE(info, nullptr) << name;
    EXPECT_TRUE(read_tensor(copy, *info).equal(tensor.to(at::kFloat))) << name;
  }
  EXPECT_EQ(load_encoder_config(folder / "copy").architectures,
            load_encoder_config(fixture_.directory()).architectures);
}

std::string kind_name(const ::testing::TestParamInfo<test::EncoderKind>& kind) {
  std::string name = kind.param.family + "_" + kind.param.head;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, EncoderExactness, ::testing::ValuesIn(test::encoder_kinds()), kind_name);

}  // namespace
}  // namespace weft::checkpoint
