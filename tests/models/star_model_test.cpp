// SPDX-License-Identifier: Apache-2.0
// A model of the family star_transformer against its parts in float64: embeddings, its layers, whose
// tests hold them against the equations, and fastNLP's classifiers; gradients; learning; what is refused. What holds
// for every family is in encoder_model_test.cpp.
#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <string>
#include <tuple>
#include <vector>

#include "models/small_encoder.h"
#include "support/expect_error.h"
#include "support/layers/star_transformer.h"
#include "support/torch_fixture.h"
#include "weft/models/families/star_transformer/config.h"

namespace weft::models {
namespace {

using test::small_encoder;
using test::small_encoder_config;
using test::text_ids;

using Parameters = torch::OrderedDict<std::string, at::Tensor>;

/// Heads that do not fill the width, and biases that are not 0.
EncoderModel exact_star(Head head, std::int64_t types = 2) {
  EncoderConfig config = small_encoder_config("star_transformer");
  config.type_vocab_size = types;
  config.id2label = {"a", "b", "c"};
  EncoderModel model(config, head, EncoderOptions{}, at::TensorOptions(at::kDouble));
  initialize(*model, 7);
  model->eval();
  const at::NoGradGuard without_gradients;
  for (auto& parameter : model->named_parameters()) {
    if (parameter.key().ends_with("bias")) {
      parameter.value().copy_(at::randn(parameter.value().sizes(), at::kDouble) * 0.3);
    }
  }
  return model;
}

/// The stack of the equations with the numbers of `model`, for one text [1, N] without padding.
testing::StarNodes expected_nodes(const EncoderModel& model, const at::Tensor& ids, const at::Tensor& types) {
  const EncoderConfig& config = model->config();
  const Parameters numbers = model->named_parameters();
  testing::StarTransformer star(testing::StarConfig{.hidden_size = config.hidden_size,
                                                    .heads = config.num_attention_heads,
                                                    .head_dim = config.own.get<StarFields>().attention_head_size,
                                                    .layers = config.num_hidden_layers},
                                at::TensorOptions(at::kDouble));
  for (auto& parameter : star->named_parameters()) {
    parameter.value().copy_(numbers["encoder.star." + parameter.key()]);
  }
  const at::Tensor* const table = numbers.find("encoder.embeddings.token_types");
  at::Tensor rows = at::embedding(numbers["encoder.embeddings.tokens"], ids) +
                    numbers["encoder.embeddings.positions"].narrow(0, 0, ids.size(1));
  rows = table == nullptr ? rows : rows + at::embedding(*table, types);
  return star(rows);
}

at::Tensor linear(const Parameters& numbers, const std::string& name, const at::Tensor& x) {
  return x.matmul(numbers[name + ".weight"].t()) + numbers[name + ".bias"];
}

at::Tensor classified(const Parameters& numbers, const at::Tensor& x) {
  return linear(numbers, "head.projection", at::leaky_relu(linear(numbers, "head.dense", x)));
}

at::Tensor relay_and_largest(const testing::StarNodes& nodes) {
  return (nodes.relay + std::get<0>(nodes.satellites.max(1))) * 0.5;
}

double off_by(const at::Tensor& found, const at::Tensor& expected) {
  return (found - expected).abs().max().item<double>();
}

/// Rows of these lengths behind as many tokens of padding as `before` says.
EncoderInput padded_texts(const std::vector<std::int64_t>& lengths, std::int64_t columns, std::int64_t before) {
  EncoderInput input;
  input.input_ids = text_ids(static_cast<std::int64_t>(lengths.size()), columns);
  input.token_type_ids = input.input_ids.remainder(2);
  input.attention_mask = at::zeros(input.input_ids.sizes(), at::kLong);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    input.attention_mask[static_cast<std::int64_t>(row)].narrow(0, before, lengths[row]).fill_(1);
  }
  return input;
}

TEST(StarModel, IsItsEmbeddingsAndItsLayers) {
  const at::NoGradGuard without_gradients;
  for (const std::int64_t types : {1, 2}) {
    EncoderModel model = exact_star(Head::kNone, types);
    EXPECT_EQ(model->named_parameters().contains("encoder.embeddings.token_types"), types == 2);
    for (const std::int64_t length : {1, 2, 3, 37, 128}) {
      EncoderInput input;
      input.input_ids = text_ids(2, length);
      input.token_type_ids = types == 2 ? input.input_ids.remainder(2) : at::Tensor();
      const EncoderOutput found = model->forward(input);
      const testing::StarNodes expected = expected_nodes(model, input.input_ids, input.token_type_ids);
      EXPECT_LT(off_by(found.last_hidden_state, expected.satellites), 1e-12) << length;
      EXPECT_LT(off_by(found.companion_hidden_state, expected.relay.unsqueeze(1)), 1e-12) << length;
      EXPECT_FALSE(found.pooler_output.defined());
    }
  }
}

TEST(StarModel, ClassifiesAsPublishedWhateverPads) {
  const at::NoGradGuard without_gradients;
  const std::vector<std::int64_t> lengths = {9, 4, 1, 2};
  const EncoderInput input = padded_texts(lengths, 9, 0);
  EncoderModel classes = exact_star(Head::kSequenceClassification);
  EncoderModel tags = exact_star(Head::kTokenClassification);
  EncoderModel answers = exact_star(Head::kQuestionAnswering);
  const at::Tensor found = classes->forward(input).logits;
  const at::Tensor tagged = tags->forward(input).logits;
  const at::Tensor starts = answers->forward(input).start_logits;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const auto at = static_cast<std::int64_t>(row);
    const at::Tensor ids = input.input_ids.narrow(0, at, 1).narrow(1, 0, lengths[row]);
    const at::Tensor types = input.token_type_ids.narrow(0, at, 1).narrow(1, 0, lengths[row]);
    const testing::StarNodes nodes = expected_nodes(classes, ids, types);
    EXPECT_LT(off_by(found.narrow(0, at, 1), classified(classes->named_parameters(), relay_and_largest(nodes))), 1e-12);
    const at::Tensor satellites = expected_nodes(tags, ids, types).satellites;
    EXPECT_LT(off_by(tagged[at].narrow(0, 0, lengths[row]), classified(tags->named_parameters(), satellites)[0]),
              1e-12);
    const at::Tensor scores =
        linear(answers->named_parameters(), "head.projection", expected_nodes(answers, ids, types).satellites);
    EXPECT_LT(off_by(starts[at].narrow(0, 0, lengths[row]), scores[0].select(1, 0)), 1e-12);
  }
}

// tests/fixtures/make/star_model.py: scores and all gradients of STSeqCls and STSeqLabel.
TEST(StarModel, EqualsFastNlp) {
  const test::Fixture fixture("joint/star_models");
  EncoderConfig config = base_config("star_transformer");
  config.vocab_size = fixture.integer("vocabulary");
  config.hidden_size = fixture.integer("width");
  config.num_hidden_layers = fixture.integer("layers");
  config.num_attention_heads = fixture.integer("heads");
  config.own.get<StarFields>().attention_head_size = fixture.integer("head_dim");
  config.intermediate_size = fixture.integer("inner");
  config.max_position_embeddings = fixture.integer("positions");
  config.pad_token_id = -1;
  config.id2label.assign(static_cast<std::size_t>(fixture.integer("classes")), "class");
  for (const auto& [kind, head] : {std::pair<std::string, Head>{"classes.", Head::kSequenceClassification},
                                   {"tags.", Head::kTokenClassification}}) {
    EncoderModel model(config, head, EncoderOptions{}, at::TensorOptions(at::kDouble));
    model->eval();
    for (auto& parameter : model->named_parameters()) {
      const at::NoGradGuard without_gradients;
      parameter.value().copy_(fixture.tensor(kind + parameter.key()));
    }
    EncoderInput input;
    input.input_ids = fixture.tensor(kind + "ids");
    const at::Tensor scores = model->forward(input).logits;
    // Sums of float64 in another order.
    EXPECT_LT(off_by(scores, fixture.tensor(kind + "scores")), 1e-12) << kind;
    scores.backward(fixture.float64(kind + "scores_gradient"));
    for (const auto& parameter : model->named_parameters()) {
      const at::Tensor expected = fixture.tensor(kind + parameter.key() + "_gradient");
      const at::Tensor found = parameter.value().grad();
      EXPECT_LT(found.defined() ? off_by(found, expected) : expected.abs().max().item<double>(), 1e-11)
          << kind << parameter.key();
    }
  }
}

TEST(StarModel, ChoosesByTheSameClassifier) {
  const at::NoGradGuard without_gradients;
  EncoderModel model = exact_star(Head::kMultipleChoice);
  EncoderInput input;
  input.input_ids = text_ids(6, 7).view({2, 3, 7});
  const at::Tensor found = model->forward(input).logits;
  ASSERT_EQ(found.sizes(), (at::IntArrayRef{2, 3}));
  const at::Tensor ids = input.input_ids.view({6, 7});
  const testing::StarNodes nodes = expected_nodes(model, ids, at::zeros({6, 7}, at::kLong));
  EXPECT_LT(off_by(found, classified(model->named_parameters(), relay_and_largest(nodes)).view({2, 3})), 1e-12);
}

// Padding before a text moves its positions, as in BERT, and nothing else; a row of padding alone has numbers, too.
TEST(StarModel, APaddedRowIsWhatItIsAlone) {
  EncoderModel model = exact_star(Head::kSequenceClassification);
  EncoderInput input = padded_texts({5, 0, 3}, 12, 4);
  const at::Tensor found = model->forward(input).logits;
  EXPECT_TRUE(found.isfinite().all().item<bool>());
  EncoderInput other = input;
  other.input_ids = input.input_ids.where(input.attention_mask.ne(0), at::tensor(9, at::kLong));
  EXPECT_TRUE(model->forward(other).logits.equal(found));
  const at::Tensor order = at::tensor({2, 0, 1}, at::kLong);
  other.input_ids = input.input_ids.index_select(0, order);
  other.token_type_ids = input.token_type_ids.index_select(0, order);
  other.attention_mask = input.attention_mask.index_select(0, order);
  EXPECT_TRUE(model->forward(other).logits.equal(found.index_select(0, order)));
  model->loss(input, {.labels = at::tensor({0, 1, 2}, at::kLong)}).backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
  }
}

// The loss along a random direction of all parameters, for each head, with layers that run again and without.
TEST(StarModel, GradientsAreThoseOfTheLoss) {
  for (const Head head : {Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification}) {
    EncoderModel model = exact_star(head);
    const EncoderInput input = padded_texts({7, 3}, 7, 0);
    EncoderLabels labels;
    labels.labels =
        head == Head::kSequenceClassification ? at::tensor({2, 0}, at::kLong) : input.input_ids.remainder(3);
    std::vector<at::Tensor> direction;
    for (const at::Tensor& parameter : model->parameters()) {
      direction.push_back(at::randn(parameter.sizes(), at::kDouble));
    }
    const auto moved = [&](double step) {
      const at::NoGradGuard without_gradients;
      const std::vector<at::Tensor> parameters = model->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].add_(direction[i], step);
      }
      const double loss = model->loss(input, labels).item<double>();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].add_(direction[i], -step);
      }
      return loss;
    };
    direction[0][model->config().pad_token_id].zero_();  // the row of padding does not learn
    const double expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    for (const bool recompute : {false, true}) {
      model->set_gradient_checkpointing(recompute);
      model->zero_grad();
      model->loss(input, labels).backward();
      double found = 0;
      const std::vector<at::Tensor> parameters = model->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::Tensor gradient = parameters[i].grad();
        found += gradient.defined() ? (gradient * direction[i]).sum().item<double>() : 0.0;
      }
      EXPECT_NEAR(found, expected, 1e-5 * (1 + std::abs(expected))) << to_string(head) << " " << recompute;
    }
  }
}

TEST(StarModel, Learns) {
  for (const Head head : {Head::kMaskedLanguageModel, Head::kSequenceClassification, Head::kTokenClassification}) {
    EncoderModel model = small_encoder(small_encoder_config("star_transformer"), head);
    model->train();
    EncoderInput input;
    input.input_ids = text_ids(4, 11);
    const EncoderLabels labels{head == Head::kSequenceClassification ? at::arange(4, at::kLong).remainder(2)
                                                                     : input.input_ids.remainder(2)};
    const double before = model->loss(input, labels).item<double>();
    for (int step = 0; step < 40; ++step) {
      model->zero_grad();
      model->loss(input, labels).backward();
      const at::NoGradGuard without_gradients;
      for (at::Tensor& parameter : model->parameters()) {
        if (parameter.grad().defined()) {
          parameter.sub_(parameter.grad(), 0.05);
        }
      }
    }
    EXPECT_LT(model->loss(input, labels).item<double>(), 0.7 * before) << to_string(head);
  }
}

TEST(StarModel, BFloat16IsNearFloat32) {
  EncoderConfig config = small_encoder_config("star_transformer");
  config.initializer_range = 0.2;
  const at::NoGradGuard without_gradients;
  EncoderModel model = small_encoder(config, Head::kSequenceClassification);
  const EncoderInput input = padded_texts({30, 12}, 30, 0);
  const at::Tensor exact = model->forward(input).logits;
  model->to(at::kBFloat16);
  const at::Tensor rounded = model->forward(input).logits.to(at::kFloat);
  // Two layers and a classifier of products, each rounded to 2^-9.
  EXPECT_LT(off_by(rounded, exact), 0.05 * std::max(1.0, exact.abs().max().item<double>()));
}

TEST(StarModel, SaysWhatItComputes) {
  const EncoderModel model = small_encoder(small_encoder_config("star_transformer"), Head::kNone);
  const std::vector<std::pair<std::string, std::string>> said = {{"attention", "ring and relay"}};
  EXPECT_EQ(model->computed(), said);
}

TEST(StarModel, RefusesWhatItHasNot) {
  const auto refuse = [](std::initializer_list<std::string_view> words, const auto& change) {
    EncoderConfig config = small_encoder_config("star_transformer");
    change(config);
    test::expect_error(ErrorKind::kArgument, words, [&] { validate(config, "here"); });
  };
  refuse({"here", "at least one layer", "0"}, [](auto& config) { config.num_hidden_layers = 0; });
  refuse({"here", "attention_probs_dropout_prob 0", "0.1"},
         [](auto& config) { config.attention_probs_dropout_prob = 0.1; });
  refuse({"here", "ring and relay", "'full'"}, [](auto& config) { config.attention = {"full"}; });
  refuse({"here", "attention_head_size", "0"},
         [](auto& config) { config.own.template get<StarFields>().attention_head_size = 0; });
  refuse({"position_embedding_type", "star_transformer"},
         [](auto& config) { config.position_embedding_type = "none"; });
  EncoderOptions options;
  options.attention = "star";
  test::expect_error(ErrorKind::kArgument, {"ring and relay", "'star'"},
                     [&] { small_encoder(small_encoder_config("star_transformer"), Head::kNone, options); });
}

}  // namespace
}  // namespace weft::models
