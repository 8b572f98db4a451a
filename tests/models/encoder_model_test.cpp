// SPDX-License-Identifier: Apache-2.0
// What holds for encoders of every family: padding and the order of a batch change nothing, short inputs are computed
// as said, mistakes are errors. Equality with transformers is in tests/checkpoint/encoder_exactness_test.cpp.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/torch_fixture.h"
#include "weft/models/families/nystromformer/config.h"

namespace weft::models {
namespace {

using test::small_encoder;
using test::small_encoder_config;
using test::text_ids;

// Sums of a row run in another order when its neighbours differ in length: float32 leaves a few 1e-6 here.
constexpr double kSame = 1e-5;

class EncoderFamilies : public ::testing::TestWithParam<const char*> {
 protected:
  EncoderFamilies() : config_(small_encoder_config(GetParam())) {}

  void add_dropout() {
    config_.hidden_dropout_prob = 0.2;
    config_.attention_probs_dropout_prob = config_.model_type == "star_transformer" ? 0.0 : 0.2;
  }

  /// Rows of these lengths, padded to the longest.
  EncoderInput batch_of(const std::vector<std::int64_t>& lengths) const {
    const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    EncoderInput input;
    input.input_ids = text_ids(static_cast<std::int64_t>(lengths.size()), longest);
    input.attention_mask = at::zeros_like(input.input_ids);
    for (std::size_t row = 0; row < lengths.size(); ++row) {
      const auto index = static_cast<std::int64_t>(row);
      input.attention_mask[index].narrow(0, 0, lengths[row]).fill_(1);
      input.input_ids[index].narrow(0, lengths[row], longest - lengths[row]).fill_(config_.pad_token_id);
    }
    return input;
  }

  EncoderConfig config_;
};

// 12 tokens are too few for BigBird's blocks, 60 and 37 are not: the batch is computed in two parts.
TEST_P(EncoderFamilies, PaddingChangesNoResult) {
  EncoderModel model = small_encoder(config_, Head::kNone);
  const std::vector<std::int64_t> lengths = {37, 12, 60};
  const EncoderInput input = batch_of(lengths);
  const EncoderOutput together = model->forward(input);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const auto index = static_cast<std::int64_t>(row);
    EncoderInput alone;
    alone.input_ids = input.input_ids.narrow(0, index, 1).narrow(1, 0, lengths[row]);
    const EncoderOutput expected = model->forward(alone);
    const at::Tensor found = together.last_hidden_state.narrow(0, index, 1).narrow(1, 0, lengths[row]);
    EXPECT_LT(test::largest_difference(found, expected.last_hidden_state), kSame) << row;
    EXPECT_EQ(together.pooler_output.defined(), expected.pooler_output.defined());
    if (expected.pooler_output.defined()) {
      EXPECT_LT(test::largest_difference(together.pooler_output[index], expected.pooler_output[0]), kSame) << row;
    }
  }
}

TEST_P(EncoderFamilies, TheOrderOfABatchChangesNoBit) {
  if (config_.model_type == "etc") {
    // With gradients LibTorch gives elements of gelu_new beyond whole vectors other last bits; real models have none.
    config_.intermediate_size = 32;
  }
  EncoderModel model = small_encoder(config_, Head::kMaskedLanguageModel);
  const EncoderInput input = batch_of({37, 12, 60});
  const at::Tensor order = at::tensor({2, 0, 1}, at::kLong);
  EncoderInput shuffled;
  shuffled.input_ids = input.input_ids.index_select(0, order);
  shuffled.attention_mask = input.attention_mask.index_select(0, order);
  EXPECT_TRUE(model->forward(shuffled).logits.equal(model->forward(input).logits.index_select(0, order)));
  EXPECT_TRUE(model->forward(input).logits.equal(model->forward(input).logits));
}

TEST_P(EncoderFamilies, PaddingInTheMiddleIsSeenByNobody) {
  EncoderModel model = small_encoder(config_, Head::kNone);
  EncoderInput input = batch_of({50});
  input.attention_mask[0].narrow(0, 20, 5).fill_(0);
  const at::Tensor before = model->forward(input).last_hidden_state;
  input.input_ids[0][22] = input.input_ids[0][22].item<std::int64_t>() == 5 ? 6 : 5;
  const at::Tensor after = model->forward(input).last_hidden_state;
  EXPECT_EQ(test::largest_difference(before, after, input.attention_mask.ne(0)), 0.0);
}

TEST_P(EncoderFamilies, ARowOfPaddingAloneHarmsNobody) {
  EncoderModel model = small_encoder(config_, Head::kNone);
  const EncoderInput input = batch_of({40, 0});
  const at::Tensor found = model->forward(input).last_hidden_state;
  EXPECT_TRUE(found.isfinite().all().item<bool>());
  EncoderInput alone;
  alone.input_ids = input.input_ids.narrow(0, 0, 1);
  EXPECT_LT(test::largest_difference(found[0], model->forward(alone).last_hidden_state[0]), kSame);
}

TEST_P(EncoderFamilies, ScoresOfChosenPositionsAreThoseOfAll) {
  EncoderModel model = small_encoder(config_, Head::kMaskedLanguageModel);
  const EncoderInput input = batch_of({40, 33});
  const at::Tensor chosen = model->hidden_states(input).flatten(0, 1).index_select(0, at::tensor({3, 41}, at::kLong));
  const at::Tensor all = model->forward(input).logits.flatten(0, 1).index_select(0, at::tensor({3, 41}, at::kLong));
  EXPECT_LT(test::largest_difference(model->vocabulary_logits(chosen), all), kSame);
}

TEST_P(EncoderFamilies, AGivenPatternReplacesTheFamilys) {
  if (config_.model_type == "star_transformer") {
    GTEST_SKIP() << "has no place for one: tests/models/star_model_test.cpp";
  }
  // Nothing but an etc attends to global tokens.
  const std::string other = config_.model_type == "etc" ? "global_local(radius=2, distance=1, hard=both)" : "window(4)";
  config_.attention = {other};
  torch::manual_seed(5);  // labels of an etc are drawn where it is made
  EncoderModel named = small_encoder(config_, Head::kNone);
  EncoderOptions options;
  options.attention = other;
  config_.attention.clear();
  torch::manual_seed(5);
  EncoderModel given = small_encoder(config_, Head::kNone, options);
  const EncoderInput input = batch_of({40, 33});
  EXPECT_TRUE(named->forward(input).last_hidden_state.equal(given->forward(input).last_hidden_state));
  EXPECT_EQ(given->computed().front(), (std::pair<std::string, std::string>{"attention", other}));
  EXPECT_EQ(given->computed().size(), 1U);
}

TEST_P(EncoderFamilies, DropoutFollowsItsSeed) {
  add_dropout();
  EncoderModel model = small_encoder(config_, Head::kSequenceClassification);
  EncoderInput input = batch_of({40, 33});
  const at::Tensor quiet = model->forward(input).logits;
  model->train();
  input.seed = 5;
  const at::Tensor first = model->forward(input).logits;
  EXPECT_TRUE(first.equal(model->forward(input).logits));
  EXPECT_FALSE(first.equal(quiet));
  input.seed = 6;
  EXPECT_FALSE(first.equal(model->forward(input).logits));
}

// A head may be all that drops: then, too, each call of a training draws a seed of its own.
TEST(EncoderHeads, DropByThemselves) {
  EncoderConfig config = small_encoder_config("distilbert");
  config.classifier_dropout = 0.0;
  update_fields(config, {{"qa_dropout", 0.5}}, "config");
  EncoderModel model = small_encoder(config, Head::kQuestionAnswering);
  model->train();
  EncoderInput input;
  input.input_ids = text_ids(2, 40);
  const at::Tensor first = model->forward(input).start_logits;
  EXPECT_FALSE(first.equal(model->forward(input).start_logits));
}

TEST_P(EncoderFamilies, RecomputedBlocksGiveTheSameGradientsUnderDropout) {
  add_dropout();
  EncoderModel model = small_encoder(config_, Head::kTokenClassification);
  model->train();
  EncoderInput input = batch_of({40, 33});
  input.seed = 5;
  const EncoderLabels labels{input.input_ids.remainder(2), {}, {}};
  std::map<std::string, at::Tensor> expected;
  for (const bool recompute : {false, true}) {
    model->set_gradient_checkpointing(recompute);
    model->zero_grad();
    model->loss(input, labels).backward();
    for (const auto& parameter : model->named_parameters()) {
      const at::Tensor gradient = parameter.value().grad();
      if (!recompute) {
        expected[parameter.key()] = gradient.defined() ? gradient.clone() : gradient;
      } else if (gradient.defined()) {
        EXPECT_TRUE(gradient.equal(expected.at(parameter.key()))) << parameter.key();
      }
    }
  }
}

TEST_P(EncoderFamilies, RefusesWhatDoesNotFit) {
  EncoderModel model = small_encoder(config_, Head::kNone);
  const auto refuse = [&](std::initializer_list<std::string_view> words, const auto& change) {
    EncoderInput input = batch_of({40});
    change(input);
    test::expect_error(ErrorKind::kArgument, words, [&] { model->forward(input); });
  };
  refuse({"input_ids holds 40", "vocab_size = 40"}, [](auto& input) { input.input_ids[0][3] = 40; });
  refuse({"input_ids holds -1"}, [](auto& input) { input.input_ids[0][3] = -1; });
  refuse({"[batch, length]"}, [](auto& input) { input.input_ids = input.input_ids[0]; });
  refuse({"attention_mask has shape [1, 39]", "[1, 40]"},
         [](auto& input) { input.attention_mask = input.attention_mask.narrow(1, 0, 39); });
  refuse({"token_type_ids holds 2", "type_vocab_size = 2"},
         [](auto& input) { input.token_type_ids = input.attention_mask + 1; });
  refuse({"200 tokens", std::to_string(config_.maximum_length())}, [&](auto& input) {
    input = {};
    input.input_ids = text_ids(1, 200);
  });
  test::expect_error(ErrorKind::kUnsupported, {"masked-lm"}, [&] { model->vocabulary_logits(at::zeros({1, 16})); });
  test::expect_error(ErrorKind::kUnsupported, {"no loss"}, [&] { model->loss(batch_of({40}), {}); });
}

INSTANTIATE_TEST_SUITE_P(Families, EncoderFamilies,
                         ::testing::Values("bert", "roberta", "longformer", "big_bird", "nystromformer", "littlebird",
                                           "etc", "star_transformer", "distilbert", "modernbert", "mpnet", "electra",
                                           "nomic_bert", "jina_bert", "eurobert", "esm", "deberta-v2"),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

std::map<std::string, std::string> computed(const EncoderModel& model) {
  const auto pairs = model->computed();
  return {pairs.begin(), pairs.end()};
}

TEST(BigBirdEncoder, SaysWhichPlanItComputedAndWhenItDidNot) {
  EncoderOptions options;
  options.random = "hf-eval";
  EncoderModel model = small_encoder(small_encoder_config("big_bird"), Head::kNone, options);
  EncoderInput input;
  input.input_ids = text_ids(1, 40);
  model->forward(input);
  EXPECT_EQ(computed(model).at("random"), "hf-eval");
  EXPECT_NE(computed(model).at("attention").find("plan=\"hf-eval\""), std::string::npos);
  EXPECT_FALSE(computed(model).contains("full_attention"));
  input.input_ids = text_ids(1, 28);  // (5 + 2 * 1) * 4 tokens are the last that are too few
  model->forward(input);
  EXPECT_EQ(computed(model).at("attention"), "full");
  EXPECT_FALSE(computed(model).contains("random"));
  EXPECT_TRUE(computed(model).contains("full_attention"));
  input.input_ids = text_ids(1, 29);  // and the choice is each call's own
  model->forward(input);
  EXPECT_FALSE(computed(model).contains("full_attention"));
}

TEST(BigBirdEncoder, PaddingLikeHuggingFaceMovesItsRows) {
  EncoderInput input;
  input.input_ids = text_ids(2, 60);
  input.attention_mask = at::zeros_like(input.input_ids);
  input.attention_mask[0].fill_(1);
  input.attention_mask[1].narrow(0, 0, 37).fill_(1);
  EncoderOptions options;
  options.pad_like_hf = true;
  EncoderModel like_hf = small_encoder(small_encoder_config("big_bird"), Head::kNone, options);
  EncoderModel own = small_encoder(small_encoder_config("big_bird"), Head::kNone);
  const at::Tensor moved = like_hf->forward(input).last_hidden_state;
  const at::Tensor kept = own->forward(input).last_hidden_state;
  EXPECT_LT(test::largest_difference(moved[0], kept[0]), kSame);
  EXPECT_GT(test::largest_difference(moved[1].narrow(0, 0, 37), kept[1].narrow(0, 0, 37)), 1e-3);
  input.input_ids = text_ids(1, 37);
  input.attention_mask = at::Tensor();
  EXPECT_EQ(like_hf->forward(input).last_hidden_state.size(1), 37);
  EXPECT_NE(computed(like_hf).at("padding").find("3 tokens"), std::string::npos);
}

TEST(BigBirdEncoder, OptionsReplaceTheConfigs) {
  EncoderOptions options;
  options.fields = {{"attention_type", "original_full"}};
  EncoderModel full = small_encoder(small_encoder_config("big_bird"), Head::kNone, options);
  EXPECT_EQ(computed(full).at("attention"), "full");
  options = {};
  options.fields = {{"block_size", 2}, {"num_random_blocks", 2}};
  options.random = "uniform";
  EncoderModel other = small_encoder(small_encoder_config("big_bird"), Head::kNone, options);
  EncoderInput input;
  input.input_ids = text_ids(1, 30);
  other->forward(input);
  EXPECT_NE(computed(other).at("attention").find("block(2, "), std::string::npos);
  EXPECT_NE(computed(other).at("attention").find("random(2"), std::string::npos);
  options.random = "fresh";
  test::expect_error(ErrorKind::kArgument, {"released, hf-eval or uniform", "'fresh'"},
                     [&] { small_encoder(small_encoder_config("big_bird"), Head::kNone, options); });
  options = {};
  options.fields = {{"block_size", 2}};
  test::expect_error(ErrorKind::kArgument, {"for big_bird", "bert"},
                     [&] { small_encoder(small_encoder_config("bert"), Head::kNone, options); });
}

TEST(NystromformerEncoder, SaysWhereThereAreNoLandmarks) {
  EncoderConfig config = small_encoder_config("nystromformer");
  EXPECT_FALSE(computed(small_encoder(config, Head::kNone)).contains("full_attention"));
  EXPECT_EQ(computed(small_encoder(config, Head::kNone)).at("attention"),
            "nystrom(landmarks=6, init=text, iterations=6, conv=5)");
  auto& own = config.own.get<NystromformerFields>();
  own.segment_means_seq_len = own.num_landmarks;
  const std::map<std::string, std::string> released = computed(small_encoder(config, Head::kNone));
  EXPECT_EQ(released.at("attention"), "nystrom(landmarks=0, iterations=6, conv=5)");
  EXPECT_NE(released.at("full_attention").find("both 6: softmax over all pairs"), std::string::npos);
  EncoderOptions options;
  options.attention = "nystrom(landmarks=6, conv=5)";  // landmarks for a released model
  const std::map<std::string, std::string> replaced = computed(small_encoder(config, Head::kNone, options));
  EXPECT_EQ(replaced.at("attention"), "nystrom(landmarks=6, iterations=6, conv=5)");
  EXPECT_FALSE(replaced.contains("full_attention"));
}

// The inverse of the released programs begins with one number for a whole batch, and so texts change each other there.
TEST(NystromformerEncoder, TextsOfABatchChangeEachOtherOnlyLikeHuggingFace) {
  const EncoderConfig config = small_encoder_config("nystromformer");
  EncoderInput all;
  all.input_ids = text_ids(3, 60);
  EncoderOptions options;
  for (const bool like_hf : {false, true}) {
    options.pad_like_hf = like_hf;
    EncoderModel model = small_encoder(config, Head::kNone, options);
    const at::Tensor together = model->forward(all).last_hidden_state;
    double largest = 0;
    for (std::int64_t row = 0; row < 3; ++row) {
      EncoderInput alone;
      alone.input_ids = all.input_ids.narrow(0, row, 1);
      largest = std::max(largest, test::largest_difference(together[row], model->forward(alone).last_hidden_state[0]));
    }
    EXPECT_EQ(like_hf, largest > kSame) << largest;
  }
}

TEST(LongformerEncoder, GlobalPositionsReachEveryToken) {
  EncoderModel model = small_encoder(small_encoder_config("longformer"), Head::kNone);
  EncoderInput input;
  input.input_ids = text_ids(1, 100);
  input.global_attention_mask = at::zeros_like(input.input_ids);
  const auto last_row = [&](std::int64_t changed) {
    EncoderInput other = input;
    other.input_ids = input.input_ids.clone();
    other.input_ids[0][0] = changed;
    return model->forward(other).last_hidden_state[0][99];
  };
  EXPECT_TRUE(last_row(5).equal(last_row(6)));
  input.global_attention_mask[0][0] = 1;
  EXPECT_FALSE(last_row(5).equal(last_row(6)));
  // 2 in attention_mask says the same.
  const at::Tensor expected = last_row(5);
  input.attention_mask = input.global_attention_mask + 1;
  input.global_attention_mask = at::Tensor();
  EXPECT_TRUE(last_row(5).equal(expected));
}

TEST(LongformerEncoder, AnswersNeedTheirSeparators) {
  EncoderModel model = small_encoder(small_encoder_config("longformer"), Head::kQuestionAnswering);
  EncoderInput input;
  input.input_ids = text_ids(2, 40);
  test::expect_error(ErrorKind::kArgument, {"three separators", "row 0 has 0"}, [&] { model->forward(input); });
  input.global_attention_mask = at::zeros_like(input.input_ids);
  EXPECT_NO_THROW(model->forward(input));
}

TEST(EncoderLosses, PassOverWhatIsIgnored) {
  const at::NoGradGuard without_gradients;
  EncoderModel tags = small_encoder(small_encoder_config("bert"), Head::kTokenClassification);
  EncoderInput input;
  input.input_ids = text_ids(2, 10);
  EXPECT_EQ(tags->loss(input, {at::zeros_like(input.input_ids) - 100, {}, {}}).item<float>(), 0.0F);
  test::expect_error(ErrorKind::kArgument, {"outside of [0, 2)"},
                     [&] { tags->loss(input, {at::zeros_like(input.input_ids) + 2, {}, {}}); });
  EncoderModel answers = small_encoder(small_encoder_config("bert"), Head::kQuestionAnswering);
  const at::Tensor outside = at::tensor({50, 99}, at::kLong);
  EXPECT_EQ(answers->loss(input, {{}, outside, outside}).item<float>(), 0.0F);
  test::expect_error(ErrorKind::kArgument, {"end_positions"}, [&] { answers->loss(input, {{}, outside, {}}); });
  EncoderModel replaced = small_encoder(small_encoder_config("electra"), Head::kReplacedTokens);
  const at::Tensor labels = at::ones_like(input.input_ids);
  EXPECT_EQ(replaced->loss(input, {labels * -100, {}, {}}).item<float>(), 0.0F);
  test::expect_error(ErrorKind::kArgument, {"neither 0, 1"}, [&] { replaced->loss(input, {labels * 2, {}, {}}); });
  test::expect_error(ErrorKind::kArgument, {"int64 [2, 10]"}, [&] { replaced->loss(input, {outside, {}, {}}); });
  at::Tensor some = labels.clone();
  some.narrow(1, 4, 6).fill_(-100);
  input.attention_mask = some.ne(-100).to(at::kLong);
  const at::Tensor passed_over = replaced->loss(input, {some, {}, {}});
  EXPECT_TRUE(replaced->loss(input, {labels, {}, {}}).equal(passed_over)) << "padding is passed over";
}

TEST(EncoderLosses, FollowTheProblemType) {
  const at::NoGradGuard without_gradients;
  EncoderConfig config = small_encoder_config("roberta");
  EncoderInput input;
  input.input_ids = text_ids(2, 10);
  EncoderModel classes = small_encoder(config, Head::kSequenceClassification);
  const at::Tensor logits = classes->forward(input).logits;
  const at::Tensor several = at::tensor({1.0F, 0.0F, 1.0F, 1.0F}).view({2, 2});
  const at::Tensor expected = (logits.clamp_min(0) - logits * several + (-logits.abs()).exp().log1p()).mean();
  EXPECT_LT(test::largest_difference(classes->loss(input, {several, {}, {}}), expected), 1e-6);
  test::expect_error(ErrorKind::kArgument, {"single_label_classification", "int64"}, [&] {
    classes->mutable_config().problem_type = "single_label_classification";
    classes->loss(input, {several, {}, {}});
  });
  config.id2label = {"score"};
  EncoderModel regression = small_encoder(config, Head::kSequenceClassification);
  const at::Tensor scores = at::tensor({0.5F, -1.0F});
  const at::Tensor difference = regression->forward(input).logits.flatten() - scores;
  EXPECT_LT(test::largest_difference(regression->loss(input, {scores, {}, {}}), difference.square().mean()), 1e-6);
}

TEST(MakeEncoder, DrawsFromItsSeed) {
  const EncoderConfig config = small_encoder_config("roberta");
  const EncoderModel one = make_encoder(config, Head::kMaskedLanguageModel, 3);
  const EncoderModel same = make_encoder(config, Head::kMaskedLanguageModel, 3);
  const EncoderModel other = make_encoder(config, Head::kMaskedLanguageModel, 4);
  const auto tokens = [](const EncoderModel& model) { return model->named_parameters()["encoder.embeddings.tokens"]; };
  EXPECT_TRUE(tokens(one).equal(tokens(same)));
  EXPECT_FALSE(tokens(one).equal(tokens(other)));
  EXPECT_EQ(tokens(one)[config.pad_token_id].abs().max().item<float>(), 0.0F);
  EXPECT_NEAR(tokens(one).std().item<double>(), 0.3, 0.03);
  EXPECT_FALSE(one->is_training());
}

// What a mechanism draws follows the seed, too, and nobody else's draws change.
TEST(MakeEncoder, DrawsWhatMechanismsLearnFromItsSeed) {
  const EncoderConfig config = small_encoder_config("nystromformer");
  const auto rows = [&](std::uint64_t seed) {
    return make_encoder(config, Head::kNone, seed)
        ->named_parameters()["encoder.layers.1.attention.mechanism.convolution"];
  };
  torch::manual_seed(1);
  const at::Tensor expected = at::rand({2});
  torch::manual_seed(1);
  const at::Tensor one = rows(3);
  EXPECT_TRUE(at::rand({2}).equal(expected));
  EXPECT_TRUE(one.equal(rows(3)));
  EXPECT_FALSE(one.equal(rows(4)));
}

}  // namespace
}  // namespace weft::models
