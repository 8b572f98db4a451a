// SPDX-License-Identifier: Apache-2.0
// Directories whose weights are int8: made of models of every kind, opened to the bit of the same weights made at
// opening, and refused in one line where codes or scales are wrong.
#include <gtest/gtest.h>

#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>
#include <torch/utils.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "checkpoint/encoder_fixture.h"
#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/average.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/new_models/convert_directory.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/layers/inference/int8_weight.h"
#include "weft/text/tokenizer.h"

namespace weft::checkpoint {
namespace {

using models::Head;

class Int8Directory : public ::testing::Test {
 protected:
  void convert() const {
    const NewModel made =
        convert_directory({.directory = plain_.string(), .out = int8_.string(), .given = {{"weights", "int8"}}});
    EXPECT_TRUE(made.int8);
  }

  void edit_tensors(const std::function<void(NamedTensors&)>& edit) const {
    NamedTensors tensors = load_tensors(int8_ / "model.safetensors");
    edit(tensors);
    save_tensors(int8_ / "model.safetensors", tensors);
  }

  static at::Tensor& tensor(NamedTensors& tensors, std::string_view name) {
    for (auto& [found, value] : tensors) {
      if (found == name) {
        return value;
      }
    }
    throw std::logic_error(std::string(name));
  }

  std::string expect_refused(ErrorKind kind, std::initializer_list<std::string_view> words) const {
    return test::expect_error(kind, words, [&] { load_encoder(int8_); });
  }

  void save_bert() const {
    save_encoder(plain_, test::small_encoder(test::small_encoder_config("bert"), Head::kMaskedLanguageModel));
  }

  const test::TemporaryDirectory temporary_;
  const std::filesystem::path plain_ = temporary_ / "plain";
  const std::filesystem::path int8_ = temporary_ / "int8";
  const at::NoGradGuard without_gradients_;
};

TEST_F(Int8Directory, EncodersOfEveryFamilyOpenToTheBit) {
  for (const char* family : {"bert", "roberta", "big_bird", "longformer", "modernbert", "deberta-v2", "esm"}) {
    SCOPED_TRACE(family);
    std::filesystem::remove_all(plain_);
    std::filesystem::remove_all(int8_);
    const auto made = test::small_encoder(test::small_encoder_config(family), Head::kMaskedLanguageModel);
    save_encoder(plain_, made);
    convert();
    models::EncoderModel expected = load_encoder(plain_, {.int8 = true});
    models::EncoderModel found = load_encoder(int8_);
    EXPECT_TRUE(layers::holds_int8(*found));
    EXPECT_EQ(found->parameter_count(), made->parameter_count());
    const models::EncoderInput input{.input_ids = test::text_ids(2, 40)};
    const at::Tensor logits = found->forward(input).logits;
    EXPECT_TRUE(logits.equal(expected->forward(input).logits));
    // Codes of a small random model: a part of the scores' own size.
    const at::Tensor exact = load_encoder(plain_)->forward(input).logits;
    EXPECT_LT((logits - exact).abs().mean().item<double>(), 0.2 * exact.abs().mean().item<double>());
  }
}

TEST_F(Int8Directory, DtypeChangesNoCode) {
  save_bert();
  convert();
  const models::EncoderInput input{.input_ids = test::text_ids(2, 24)};
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    models::EncoderModel expected = load_encoder(plain_, {.dtype = dtype, .int8 = true});
    models::EncoderModel found = load_encoder(int8_, {.dtype = dtype});
    EXPECT_TRUE(found->forward(input).logits.equal(expected->forward(input).logits));
  }
}

TEST_F(Int8Directory, ATableIsAQuarter) {
  save_bert();
  convert();
  for (const auto& [name, value] : load_tensors(int8_ / "model.safetensors")) {
    const bool is_matrix = name.ends_with(".weight") && value.dim() == 2 &&
                           name.find("position") == std::string::npos && name.find("token_type") == std::string::npos;
    EXPECT_EQ(value.scalar_type() == at::kChar, is_matrix) << name;
  }
}

TEST_F(Int8Directory, DecodersOpenToTheBit) {
  for (const bool ties : {true, false}) {
    std::filesystem::remove_all(plain_);
    std::filesystem::remove_all(int8_);
    models::TransformerConfig config = test::small_config();
    config.tie_word_embeddings = ties;
    save_model(plain_, test::make_model(config), *text::make_byte_tokenizer());
    convert();
    models::LanguageModel expected = load_model(plain_, {.int8 = true});
    models::LanguageModel found = load_model(int8_);
    const at::Tensor ids = test::random_ids(2, 30);
    EXPECT_TRUE(found->logits({.input_ids = ids}).equal(expected->logits({.input_ids = ids})));
    const double loss = found->loss({.input_ids = ids}, ids).item<double>();
    EXPECT_EQ(loss, expected->loss({.input_ids = ids}, ids).item<double>());
    const double exact = load_model(plain_)->loss({.input_ids = ids}, ids).item<double>();
    EXPECT_LT(std::abs(loss - exact), 0.1 * exact);
    layers::DecodingState state = found->initial_state();
    EXPECT_LT((found->decode(ids, state) - found->logits({.input_ids = ids}).select(1, 29)).abs().max().item<double>(),
              1e-4);
  }
}

TEST_F(Int8Directory, Gpt2KeepsItsNamesAndTurnedWeights) {
  const test::EncoderFixture fixture("gpt2/released");
  convert_directory({.directory = fixture.directory().string(), .out = int8_.string(), .given = {{"weights", "int8"}}});
  models::LanguageModel expected = load_model(fixture.directory(), {.int8 = true});
  models::LanguageModel found = load_model(int8_);
  const at::Tensor ids = fixture.tensor(fixture.cases().front() + "/input/input_ids");
  EXPECT_TRUE(found->logits({.input_ids = ids}).equal(expected->logits({.input_ids = ids})));
}

TEST_F(Int8Directory, EncoderDecodersOpenToTheBit) {
  for (const char* name : {"marian", "marian_apart", "bart", "bart_untied", "m2m_100", "t5", "t5_gated"}) {
    SCOPED_TRACE(name);
    const test::EncoderFixture fixture(concat("seq2seq/", name));
    std::filesystem::remove_all(int8_);
    convert_directory(
        {.directory = fixture.directory().string(), .out = int8_.string(), .given = {{"weights", "int8"}}});
    models::EncoderDecoder expected = load_encoder_decoder(fixture.directory(), {.int8 = true});
    models::EncoderDecoder found = load_encoder_decoder(int8_);
    torch::manual_seed(3);
    const models::SequencePair pair{.input_ids = at::randint(3, 12, {2, 9}, at::TensorOptions(at::kLong)),
                                    .decoder_input_ids = at::randint(3, 12, {2, 4}, at::TensorOptions(at::kLong))};
    const at::Tensor logits = found->logits(pair);
    EXPECT_TRUE(logits.equal(expected->logits(pair)));
    layers::DecodingState state = found->initial_state();
    const at::Tensor last = found->decode(pair.decoder_input_ids, state, found->encode(pair.input_ids));
    EXPECT_LT((last - logits.select(1, 3)).abs().max().item<double>(), 1e-2 * logits.abs().max().item<double>());
  }
}

TEST_F(Int8Directory, WrongCodesAndScalesAreNamed) {
  const std::string weight = "bert.encoder.layer.0.attention.self.query.weight";
  const std::string scale = weight + "_scale";
  const auto refused = [&](ErrorKind kind, std::initializer_list<std::string_view> words,
                           const std::function<void(NamedTensors&)>& edit) {
    std::filesystem::remove_all(plain_);
    std::filesystem::remove_all(int8_);
    save_bert();
    convert();
    edit_tensors(edit);
    const std::string message = expect_refused(kind, words);
    EXPECT_NE(message.find("model.safetensors"), std::string::npos) << message;
  };
  refused(ErrorKind::kFormat, {scale, "is missing"}, [&](NamedTensors& tensors) {
    std::erase_if(tensors, [&](const auto& entry) { return entry.first == scale; });
  });
  refused(ErrorKind::kFormat, {weight, "is F32", "says I8"},
          [&](NamedTensors& tensors) { tensor(tensors, weight) = tensor(tensors, weight).to(at::kFloat); });
  refused(ErrorKind::kFormat, {weight, "shape [16, 15]", "[16, 16]"},
          [&](NamedTensors& tensors) { tensor(tensors, weight) = tensor(tensors, weight).narrow(1, 0, 15); });
  refused(ErrorKind::kFormat, {scale, "F16", "scales are F32"},
          [&](NamedTensors& tensors) { tensor(tensors, scale) = tensor(tensors, scale).to(at::kHalf); });
  refused(ErrorKind::kFormat, {scale, "shape [15, 1]", "[16, 1]"},
          [&](NamedTensors& tensors) { tensor(tensors, scale) = tensor(tensors, scale).narrow(0, 0, 15); });
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    refused(ErrorKind::kFormat, {weight, "a scale that is not finite or not above 0"},
            [&](NamedTensors& tensors) { tensor(tensors, scale)[3][0] = wrong; });
  }
  refused(ErrorKind::kFormat, {weight, "-128"}, [&](NamedTensors& tensors) { tensor(tensors, weight)[2][5] = -128; });
  refused(ErrorKind::kFormat, {"'stray_scale'", "is not part of"},
          [&](NamedTensors& tensors) { tensors.emplace_back("stray_scale", tensor(tensors, scale).clone()); });
}

TEST_F(Int8Directory, CodesWithoutTheirConfigAreNamed) {
  save_bert();
  convert();
  formats::Json config = formats::read_json(int8_ / "config.json");
  EXPECT_EQ(config["quantization_config"]["quant_method"], "weft-int8");
  config["quantization_config"]["config_groups"]["group_0"]["weights"]["num_bits"] = 4;
  write_file_atomically(int8_ / "config.json", formats::print_json(config));
  expect_refused(ErrorKind::kFormat, {"config.json", "quantization_config", "\"num_bits\":4"});
  config.erase("quantization_config");
  write_file_atomically(int8_ / "config.json", formats::print_json(config));
  expect_refused(ErrorKind::kFormat, {"is I8, but weights are"});
}

TEST_F(Int8Directory, WhatNeedsNumbersRefuses) {
  save_bert();
  convert();
  test::expect_error(ErrorKind::kUnsupported, {"int8", "another model"}, [&] {
    convert_directory(
        {.directory = int8_.string(), .out = (temporary_ / "long").string(), .given = {{"to", "longformer"}}});
  });
  test::expect_error(ErrorKind::kUnsupported, {"int8", "floating-point"}, [&] {
    convert_directory(
        {.directory = int8_.string(), .out = (temporary_ / "again").string(), .given = {{"weights", "int8"}}});
  });
  const std::filesystem::path both[] = {int8_, int8_};
  test::expect_error(ErrorKind::kUnsupported, {"int8", "a mean"}, [&] { average_models(both, temporary_ / "mean"); });
  test::expect_error(ErrorKind::kArgument, {"int8", "no other option"}, [&] {
    convert_directory({.directory = plain_.string(),
                       .out = (temporary_ / "two").string(),
                       .given = {{"weights", "int8"}, {"length", 64}}});
  });
}

TEST_F(Int8Directory, NaNInTheSourceIsNamed) {
  save_bert();
  NamedTensors tensors = load_tensors(plain_ / "model.safetensors");
  tensor(tensors, "bert.embeddings.word_embeddings.weight")[3][2] = std::numeric_limits<double>::quiet_NaN();
  save_tensors(plain_ / "model.safetensors", tensors);
  test::expect_error(ErrorKind::kNumeric, {"model.safetensors", "word_embeddings", "NaN"},
                     [&] { load_encoder(plain_, {.int8 = true}); });
}

}  // namespace
}  // namespace weft::checkpoint
