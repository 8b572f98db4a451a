// SPDX-License-Identifier: Apache-2.0
// Reformer directories against transformers: logits, gradients, what is written back, what is refused.
#include <gtest/gtest.h>

#include <c10/core/GradMode.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/like_transformers.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/checkpoint/weights.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/models/families/causal_rules.h"
#include "weft/models/families/reformer/config_json.h"
#include "weft/models/families/rows.h"

namespace weft::checkpoint {
namespace {

const std::vector<std::string> kReformers = {"local", "mixed", "padded", "masked", "masked-padded"};

std::filesystem::path reformer_fixture(const std::string& name) {
  return std::filesystem::path(WEFT_TEST_DATA_DIR) / "reformer" / name;
}

/// float32 against float64, three layers.
constexpr double kReformerTolerance = 5e-5;

TEST(Reformer, GivesTheLogitsOfTransformers) {
  const at::NoGradGuard without_gradients;
  for (const std::string& name : kReformers) {
    models::LanguageModel model = load_model(reformer_fixture(name));
    const test::Fixture expected("reformer/" + name + "/expected");
    for (const char* length : {"1", "3", "5", "9", "13", "32"}) {
      const bool twice = name == "padded" && (length == std::string("9") || length == std::string("13"));
      if (!expected.has(std::string("ids.") + length) || twice) {
        continue;
      }
      models::ModelInput input;
      input.input_ids = expected.tensor(std::string("ids.") + length);
      const at::Tensor logits = expected.tensor(std::string("logits.") + length);
      EXPECT_LT(test::largest_difference(model->logits(input), logits), kReformerTolerance) << name << length;
    }
  }
}

TEST(Reformer, CountsKeysTwiceAndForgetsTheBiasLikeTransformers) {
  const at::NoGradGuard without_gradients;
  const OpenedModel opened = open_model(reformer_fixture("padded"));
  models::LanguageModel model = load_like_transformers(opened);
  const test::Fixture expected("reformer/padded/expected");
  const test::Fixture weights("reformer/padded/model");
  for (const char* length : {"1", "5", "9", "13", "32"}) {
    models::ModelInput input;
    input.input_ids = expected.tensor(std::string("ids.") + length);
    const at::Tensor logits = expected.tensor(std::string("logits.") + length) - weights.tensor("lm_head.bias");
    EXPECT_LT(test::largest_difference(model->logits(input), logits), kReformerTolerance) << length;
  }
  // With two chunks before, two chunks close the circle: their keys count twice in transformers alone.
  models::ModelInput input;
  input.input_ids = expected.tensor("ids.13");
  EXPECT_GT(test::largest_difference(load_model(opened)->logits(input), expected.tensor("logits.13")), 1e-2);
}

/// Gradients of the fixture's loss against those of `file`: largest difference over 0.01 and the largest entry.
void expect_reformer_gradients(const std::string& name, at::ScalarType dtype, const std::string& file,
                               double tolerance) {
  models::LanguageModel model = load_model(reformer_fixture(name));
  model->to(dtype);
  const test::Fixture expected("reformer/" + name + "/" + file);
  model->train();
  models::ModelInput input;
  input.input_ids = test::Fixture("reformer/" + name + "/expected").tensor("ids.32");
  model->loss(input, input.input_ids.roll(-1, 1)).backward();
  for (auto& [key, gradient] : named_weights(*model, models::reformer_family().causal->weights(model->config()))) {
    ASSERT_TRUE(expected.has("gradient." + key)) << key;
  }
  const at::NoGradGuard without_gradients;
  for (const at::Tensor& parameter : model->parameters()) {
    parameter.copy_(parameter.grad());
  }
  for (auto& [key, gradient] : named_weights(*model, models::reformer_family().causal->weights(model->config()))) {
    const at::Tensor theirs = expected.tensor("gradient." + key);
    const double scale = 1e-2 + theirs.abs().max().item<double>();
    EXPECT_LT(test::largest_difference(gradient, theirs), tolerance * scale) << name << " " << key;
  }
}

TEST(Reformer, GivesTheGradientsOfTransformers) {
  for (const std::string& name : kReformers) {
    expect_reformer_gradients(name, at::kFloat, "expected", 2e-4);  // float32 through three layers
    expect_reformer_gradients(name, at::kDouble, "exact", 1e-6);    // the fixture is rounded to float32
  }
}

TEST(Reformer, GoesOnAsTransformersWithItsCache) {
  const at::NoGradGuard without_gradients;
  models::LanguageModel model = load_cached_like_transformers(open_model(reformer_fixture("mixed")));
  const test::Fixture expected("reformer/mixed/cached");
  const at::Tensor ids = expected.tensor("ids");
  for (const std::int64_t prompt : {1, 5, 8, 11, 16}) {
    const at::Tensor scores = expected.tensor(concat("scores.", prompt));
    layers::DecodingState state = model->initial_state();
    at::Tensor found = model->decode(ids.narrow(1, 0, prompt), state);
    for (std::int64_t row = 0; row < scores.size(0); ++row) {
      const at::Tensor columns = found.slice(1, 0, found.size(1), 15);
      EXPECT_LT(test::largest_difference(columns, scores.narrow(0, row, 1)), kReformerTolerance)
          << prompt << " " << row;
      if (row + 1 < scores.size(0)) {
        found = model->decode(ids.narrow(1, prompt + row, 1), state);
      }
    }
  }
}

TEST(Reformer, WritesBackWhatItRead) {
  for (const std::string& name : kReformers) {
    const std::filesystem::path from = reformer_fixture(name);
    const models::LanguageModel model = load_model(from);
    test::TemporaryDirectory directory;
    save_model_as(*models::reformer_family().causal, directory / "copy", model, from);
    const auto written = load_tensors(directory / "copy" / "model.safetensors");
    auto read = load_tensors(from / "model.safetensors");
    ASSERT_EQ(written.size(), read.size());
    for (const auto& [key, tensor] : written) {
      const auto found = std::find_if(read.begin(), read.end(), [&](const auto& each) { return each.first == key; });
      ASSERT_NE(found, read.end()) << key;
      EXPECT_TRUE(found->second.equal(tensor)) << key;
    }
    const formats::Json before = formats::read_json(from / "config.json");
    const formats::Json after = formats::read_json(directory / "copy" / "config.json");
    for (const auto& [field, value] : after.items()) {
      const bool unused =
          field == "num_buckets" || field == "hash_seed" || field.starts_with("lsh") || field == "num_hashes";
      // transformers writes chunk_size_feed_forward only where it is not 0.
      const formats::Json was =
          field == "chunk_size_feed_forward" ? formats::Json(before.value(field, 0)) : before.at(field);
      if (name != "local" || !unused) {
        EXPECT_EQ(was, value) << name << " " << field;
      }
    }
  }
}

TEST(Reformer, PiecesKeepTheirFile) {
  test::TemporaryDirectory directory;
  const std::filesystem::path pieces = directory / "pieces";
  std::filesystem::copy(reformer_fixture("mixed"), pieces);
  write_file_atomically(pieces / "spiece.model", "pieces");
  const OpenedModel opened = open_model(pieces);
  EXPECT_EQ(load_config(opened).tokenizer_class, "sentencepiece");
  const models::LanguageModel model = load_model(opened);
  save_model_as(*models::reformer_family().causal, directory / "copy", model, pieces);
  EXPECT_EQ(read_file(directory / "copy" / "spiece.model"), "pieces");
  std::filesystem::rename(pieces / "spiece.model", pieces / "tokenizer.model");  // as a run has it
  save_model_as(*models::reformer_family().causal, directory / "again", model, pieces);
  EXPECT_EQ(read_file(directory / "again" / "spiece.model"), "pieces");
}

TEST(Reformer, WithoutAHashSeedEachTrainingStepHasItsOwn) {
  formats::Json json = formats::read_json(reformer_fixture("mixed") / "config.json");
  json["hash_seed"] = nullptr;
  const models::TransformerConfig config = models::reformer_from_json(json, reformer_fixture("mixed"));
  std::string expressions;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    expressions += config.attention_of(layer);
  }
  EXPECT_NE(expressions.find("seed=step"), std::string::npos) << expressions;
  EXPECT_TRUE(models::reformer_to_json(config).at("hash_seed").is_null());
}

TEST(Reformer, DecodesLocalLayersTokenByToken) {
  const at::NoGradGuard without_gradients;
  models::LanguageModel model = load_model(reformer_fixture("local"));
  const test::Fixture expected("reformer/local/expected");
  const at::Tensor ids = expected.tensor("ids.13");
  layers::DecodingState state = model->initial_state();
  for (std::int64_t i = 0; i < ids.size(1); ++i) {
    const at::Tensor logits = model->decode(ids.narrow(1, i, 1), state);
    EXPECT_LT(test::largest_difference(logits, expected.tensor("logits.13").select(1, i)), kReformerTolerance) << i;
  }
}

TEST(Reformer, ContinuesTextsWithTheWholeTextOrLikeTransformersWithItsCache) {
  const at::NoGradGuard without_gradients;
  const OpenedModel opened = open_model(reformer_fixture("mixed"));
  const test::Fixture expected("reformer/mixed/expected");
  const at::Tensor ids = expected.tensor("ids.13");
  models::LanguageModel exact = load_model(opened);
  layers::DecodingState state = exact->initial_state();
  exact->decode(ids.narrow(1, 0, 12), state);
  const at::Tensor last = exact->decode(ids.narrow(1, 12, 1), state);
  EXPECT_LT(test::largest_difference(last, expected.tensor("logits.13").select(1, 12)), kReformerTolerance);
  // What a prompt gives is the same in both, but for the bias of the head.
  models::LanguageModel cached = load_cached_like_transformers(opened);
  layers::DecodingState kept = cached->initial_state();
  const at::Tensor bias = test::Fixture("reformer/mixed/model").tensor("lm_head.bias");
  EXPECT_LT(test::largest_difference(cached->decode(ids, kept) + bias, last), kReformerTolerance);
  test::expect_error(ErrorKind::kUnsupported, {"like_transformers", "local_num_chunks_before 2"},
                     [] { load_cached_like_transformers(open_model(reformer_fixture("padded"))); });
  test::expect_error(ErrorKind::kUnsupported, {"like_transformers", "encoder"},
                     [] { load_cached_like_transformers(open_model(reformer_fixture("masked"))); });
  EXPECT_NO_THROW(load_cached_like_transformers(open_model(reformer_fixture("local"))));
}

TEST(Reformer, RefusesWhatItCannotHold) {
  const formats::Json good = formats::read_json(reformer_fixture("mixed") / "config.json");
  const auto refused = [&](ErrorKind kind, const char* field, const formats::Json& value,
                           std::initializer_list<std::string_view> words) {
    formats::Json json = good;
    json[field] = value;
    test::expect_error(kind, words, [&] { models::reformer_from_json(json, "here"); });
  };
  EXPECT_EQ(models::reformer_from_json(good, "here").tokenizer_class, "bytes+2");
  const formats::Json masked = formats::read_json(reformer_fixture("masked") / "config.json");
  EXPECT_EQ(models::reformer_from_json(masked, "here").attention[0], "block(4, circle(left=1, right=1, multiple=2))");
  refused(ErrorKind::kUnsupported, "is_decoder", false, {"is_decoder", "ReformerForMaskedLM"});
  refused(ErrorKind::kUnsupported, "tie_word_embeddings", true, {"tie_word_embeddings"});
  refused(ErrorKind::kUnsupported, "architectures", {"ReformerForMaskedLM"}, {"ReformerModelWithLMHead", "MaskedLM"});
  refused(ErrorKind::kUnsupported, "local_num_chunks_after", 1, {"local_num_chunks_after", "found 1 and 0"});
  refused(ErrorKind::kUnsupported, "lsh_num_chunks_after", 1, {"lsh_num_chunks_after", "found 0 and 1"});
  refused(ErrorKind::kFormat, "attn_layers", {"local", "full"}, {"attn_layers", "'full'"});
  refused(ErrorKind::kArgument, "axial_pos_shape", {4, 7}, {"axial_pos_shape", "28", "32"});
  refused(ErrorKind::kArgument, "hidden_act", "gelu_fast", {"hidden_act", "gelu_fast"});
  const auto unwritable = [&](auto&& spoil, std::initializer_list<std::string_view> words) {
    models::TransformerConfig config = models::reformer_from_json(good, "here");
    spoil(config);
    test::expect_error(ErrorKind::kUnsupported, words, [&] { models::reformer_to_json(config); });
  };
  unwritable([](auto& c) { c.residual = "plain"; }, {"residual"});
  unwritable([](auto& c) { c.attention = {"window(4)"}; }, {"window(4)", "block"});
  unwritable([](auto& c) { c.attention = {"lsh", "lsh", "lsh"}; }, {"causal=position"});
  unwritable([](auto& c) { c.attention[1] = "lsh(causal=position, right=1)"; }, {"lsh_num_chunks_after"});
  unwritable([](auto& c) { c.attention[1] = "lsh(causal=position, chunk=3)"; }, {"layer 1", "multiple=12"});
  unwritable([](auto& c) { c.attention[0] = "block(5, window(left=1))"; }, {"same in all local layers"});
}

}  // namespace
}  // namespace weft::checkpoint
