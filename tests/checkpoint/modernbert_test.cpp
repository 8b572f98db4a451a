// SPDX-License-Identifier: Apache-2.0
// ModernBERT's directories in the forms of transformers 4.48 and 5, what is refused, and its first values. That results
// are those of transformers is shown by encoder_exactness_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "support/torch_fixture.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/models/families/encoder_rules.h"
#include "weft/models/families/modernbert/config.h"

namespace weft::checkpoint {
namespace {

using formats::Json;
using models::EncoderConfig;
using models::Head;
using models::ModernbertFields;

class Modernbert : public ::testing::Test {
 protected:
  EncoderConfig read(Json fields) const {
    fields["model_type"] = "modernbert";
    write_file_atomically(folder_ / "config.json", formats::print_json(fields));
    return load_encoder_config(folder_.path());
  }

  void expect_refused(ErrorKind kind, std::initializer_list<std::string_view> words, const Json& fields) const {
    test::expect_error(kind, words, [&] { read(fields); });
  }

  static std::vector<layers::BlockConfig> blocks(const EncoderConfig& config) {
    return models::blueprint(config, Head::kNone, {}).stack.blocks;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Modernbert, ReadsBothForms) {
  const Json old = {{"num_hidden_layers", 5},     {"global_attn_every_n_layers", 2},
                    {"global_rope_theta", 900.0}, {"local_rope_theta", 50.0},
                    {"local_attention", 7},       {"position_embedding_type", "absolute"},
                    {"norm_eps", 1e-3},           {"hidden_activation", "silu"}};
  const Json theta = {{"full_attention", {{"rope_theta", 900.0}, {"rope_type", "default"}}},
                      {"sliding_attention", {{"rope_theta", 50.0}}}};
  const Json recent = {
      {"num_hidden_layers", 5},
      {"layer_types", {"full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"}},
      {"rope_parameters", theta},
      {"local_attention", 7},
      {"norm_eps", 1e-3},
      {"hidden_activation", "silu"}};
  for (const Json& fields : {old, recent}) {
    const EncoderConfig config = read(fields);
    EXPECT_EQ(config.own.get<ModernbertFields>().global_attn_every_n_layers, 2);
    EXPECT_TRUE(config.own.get<ModernbertFields>().layer_types.empty());  // another number of layers can be asked for
    const std::vector<layers::BlockConfig> found = blocks(config);
    for (const layers::BlockConfig& block : found) {
      const bool is_full = block.layer % 2 == 0;
      EXPECT_EQ(block.attention, is_full ? "full" : "window(7)");
      EXPECT_EQ(block.rope_theta, is_full ? 900.0 : 50.0);
      EXPECT_EQ(block.activation, "swiglu");
      EXPECT_EQ(block.norm.epsilon, 1e-3);
      EXPECT_FALSE(block.norm.bias);
    }
    EXPECT_EQ(found.front().attention_norm->kind, layers::NormKind::kNone);
  }
  EXPECT_EQ(blocks(read({{"local_rope_theta", nullptr}}))[1].rope_theta, 160000.0);
  EXPECT_EQ(blocks(read(Json::object()))[1].attention, "window(128)");
}

TEST_F(Modernbert, WritesWhatBothVersionsRead) {
  models::EncoderModel model =
      test::small_encoder(test::small_encoder_config("modernbert"), Head::kSequenceClassification);
  save_encoder(folder_ / "even", model);
  const Json even = formats::read_json(folder_ / "even" / "config.json");
  EXPECT_EQ(even.at("architectures"), Json::array({"ModernBertForSequenceClassification"}));
  EXPECT_EQ(even.at("layer_types"), Json::array({"full_attention", "sliding_attention"}));
  EXPECT_EQ(even.at("global_attn_every_n_layers"), 3);
  EXPECT_EQ(even.at("rope_parameters").at("sliding_attention").at("rope_theta"), 10000.0);
  EXPECT_EQ(even.at("local_rope_theta"), 10000.0);
  EXPECT_FALSE(even.contains("hidden_act"));
  EXPECT_FALSE(even.contains("type_vocab_size"));
  EncoderConfig config = model->config();
  config.own.get<ModernbertFields>().layer_types = {"sliding_attention", "full_attention"};
  save_encoder(folder_ / "odd", test::small_encoder(config, Head::kNone));
  const Json odd = formats::read_json(folder_ / "odd" / "config.json");
  EXPECT_EQ(odd.at("layer_types"), Json::array({"sliding_attention", "full_attention"}));
  EXPECT_FALSE(odd.contains("global_attn_every_n_layers"));
  EXPECT_EQ(load_encoder_config(folder_ / "odd").own.get<ModernbertFields>().layer_types.size(), 2U);
}

TEST_F(Modernbert, RefusesWhatItCannotCompute) {
  expect_refused(ErrorKind::kArgument, {"config.json", "layer_types lists 1", "num_hidden_layers is 22"},
                 {{"layer_types", {"full_attention"}}});
  expect_refused(ErrorKind::kArgument, {"layer_types", "'chunked_attention'"},
                 {{"num_hidden_layers", 1}, {"layer_types", {"chunked_attention"}}});
  expect_refused(ErrorKind::kUnsupported, {"config.json", "rope_parameters: full_attention", "rope_type", "yarn"},
                 {{"rope_parameters", {{"full_attention", {{"rope_type", "yarn"}, {"factor", 4.0}}}}}});
  expect_refused(ErrorKind::kUnsupported, {"rope_scaling", "linear"},
                 {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}});
  expect_refused(ErrorKind::kArgument, {"even number", "found 3"}, {{"hidden_size", 9}, {"num_attention_heads", 3}});
  expect_refused(ErrorKind::kArgument, {"classifier_pooling", "'max'"}, {{"classifier_pooling", "max"}});
}

// Matrices that write to the residual stream, and those of the heads, begin smaller than others; none has outliers.
TEST_F(Modernbert, BeginsAsPublished) {
  EncoderConfig config = test::small_encoder_config("modernbert");
  config.initializer_range = 0.02;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_hidden_layers = 8;
  const auto model = models::make_encoder(config, Head::kTokenClassification, 3);
  const auto parameters = model->named_parameters();
  const auto expect_range = [&](const char* name, double range) {
    const at::Tensor values = parameters[name];
    // A normal distribution that ends at two standard deviations has 0.88 of its standard deviation.
    EXPECT_NEAR(values.std().item<double>(), 0.88 * range, 0.03 * range) << name;
    EXPECT_LE(values.abs().max().item<double>(), 2.0 * range * (1 + 1e-6)) << name;
  };
  expect_range("encoder.layers.3.attention.qkv.weight", 0.02);
  expect_range("encoder.layers.3.attention.output.weight", 0.02 / 4);
  expect_range("encoder.layers.3.feed_forward.down.weight", 0.02 / 4);
  expect_range("head.dense.weight", 0.02 / 4);
  EXPECT_LE(parameters["head.projection.weight"].abs().max().item<double>(), 2.0 / 8 * (1 + 1e-6));
}

// A place that a window hides from its row reaches it through the layer that sees the whole text, and through no other.
TEST_F(Modernbert, LayersSeeWhatTheirKindSays) {
  EncoderConfig config = test::small_encoder_config("modernbert");
  const auto reach = [&](std::vector<std::string> kinds) {
    config.own.get<ModernbertFields>().layer_types = std::move(kinds);
    models::EncoderModel model = test::small_encoder(config, Head::kNone);
    models::EncoderInput input;
    input.input_ids = test::text_ids(1, 60);
    const at::Tensor before = model->forward(input).last_hidden_state;
    input.input_ids[0][30] = 43 - input.input_ids[0][30].item<std::int64_t>();
    const at::Tensor changed = (model->forward(input).last_hidden_state - before).abs().amax(2)[0].gt(0);
    return changed.nonzero().size(0);
  };
  EXPECT_EQ(reach({"sliding_attention", "sliding_attention"}), 2 * 8 + 1);  // 4 to each side, twice
  EXPECT_EQ(reach({"sliding_attention", "full_attention"}), 60);
}

}  // namespace
}  // namespace weft::checkpoint
